// A hot key from its birth to its end, by the commands, on a development chain.

import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { HDKey } from '@scure/bip32'
import { mnemonicToSeedSync } from '@scure/bip39'
import { person, Scene, TRX } from 'penstock-devchain/scene.ts'
import { checkPrinted } from 'penstock-test/harness/operator.ts'
import { repeatable } from 'penstock-test/harness/world.ts'
import { inspectConfig } from '../../config.ts'
import { depositAddresses } from '../../people/customers/deposit_addresses.ts'
import { runCommand } from './run.ts'

const [pool, activation, recharge] = [person('pool'), person('activation'), person('recharge')]
const [hot, next, creator] = [person('pool hot'), person('pool next'), person('creator')]
const NODE = ['--node-url', 'http://127.0.0.1']
const xpub = HDKey.fromMasterSeed(repeatable('wallets').bytes(32)).derive(
  "m/44'/195'/0'",
).publicExtendedKey

/** The commands without any database. */
async function operator(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-wallets-'))
  t.after(() => rm(folder, { recursive: true }))
  const scene = new Scene({ pool: 20_000n * TRX, activation: 1_000n * TRX, recharge: TRX })
  const file = join(folder, 'update.json')
  const wallets = join(folder, 'wallets.json')
  let out = ''
  let err = ''
  const type = async (input: string, ...words: string[]) => {
    out = ''
    err = ''
    const code = await runCommand(words, {
      env: { PENSTOCK_WALLETS: wallets },
      inspectConfig: (args, env) => ({ ...inspectConfig(args, env), unknown: [] }),
      user: 'ops',
      out: (text) => {
        out += text
      },
      err: (text) => {
        err += text
      },
      clock: { now: () => new Date(scene.devchain.head.header.timestamp) },
      random: repeatable('wallets'),
      transport: async ({ url, body }) =>
        scene.devchain.request('POST', new URL(url).pathname, body),
      wait: async () => {},
      input: async () => input,
    })
    await checkPrinted(words, out)
    return { code, out, err }
  }
  const json = async (input: string, ...words: string[]) => {
    const said = await type(input, ...words, '--json')
    assert.equal(said.code, 0, said.err)
    return JSON.parse(said.out)
  }
  /** Prepared, signed and sent. */
  const carry = async (key: string, ...words: string[]) => {
    const made = await json('', 'wallets', ...words, '--file', file, ...NODE)
    await json(`${key}\n`, 'wallets', 'sign', file)
    const sent = await json('', 'wallets', 'broadcast', file, ...NODE)
    assert.equal(sent.tx_id, made.tx_id)
    scene.mine()
    return made
  }
  const writeWallets = (hot_key: string, permission_id: number, spare_keys: string[] = []) =>
    writeFile(
      wallets,
      JSON.stringify({
        pool: [{ address: pool.address, permission_id, private_key: hot_key, spare_keys }],
        activation: { address: activation.address, permission_id: 3, private_key: creator.key },
        recharge_address: recharge.address,
        deposit_xpub: xpub,
      }),
      { mode: 0o600 },
    )
  return { scene, file, type, json, carry, writeWallets }
}

test('a hot key gets its permission, another takes its place, and it is taken away', async (t) => {
  const { type, carry, writeWallets } = await operator(t)
  const check = async () => (await type('', 'wallets', 'check', ...NODE, '--json')).code
  const permitted = await carry(
    pool.key,
    'permit',
    pool.address,
    '--kind',
    'pool',
    '--hot-key',
    hot.address,
  )
  // An account is born with permission 2, which stays.
  assert.equal(permitted.permission_id, 3)
  assert.match(
    permitted.says.join('\n'),
    /Permission 3 \(penstock pool\): T\w+ may use Delegate\w+, UnDelegate\w+\./,
  )
  const created = [
    'permit',
    activation.address,
    '--kind',
    'activation',
    '--hot-key',
    creator.address,
  ]
  await carry(activation.key, ...created)
  await writeWallets(hot.key, 3)
  assert.equal(await check(), 0)

  const both = [
    'permit',
    pool.address,
    '--kind',
    'pool',
    '--hot-key',
    hot.address,
    '--spare-key',
    next.address,
  ]
  assert.equal((await carry(pool.key, ...both)).permission_id, 3, 'the same permission')
  assert.equal(await check(), 1, 'another key is there')
  await writeWallets(hot.key, 3, [next.address])
  assert.equal(await check(), 0)
  await writeWallets(next.key, 3, [hot.address])
  assert.equal(await check(), 0, 'the next key does it')
  await carry(pool.key, 'forbid', pool.address, '--hot-key', hot.address)
  await writeWallets(next.key, 3)
  assert.equal(await check(), 0)
  await writeWallets(hot.key, 3)
  const said = await type('', 'wallets', 'check', ...NODE)
  assert.equal(said.code, 1)
  assert.match(said.out, /cannot act alone with permission 3/)
})

test('what is signed is told from the bytes, and nothing else is signed', async (t) => {
  const { file, type, json } = await operator(t)
  await json(
    '',
    'wallets',
    'permit',
    pool.address,
    '--kind',
    'pool',
    '--hot-key',
    hot.address,
    '--file',
    file,
    ...NODE,
  )
  const carried = JSON.parse(await readFile(file, 'utf8'))
  const refused: [string, string, RegExp][] = [
    ['', pool.key, /cannot be read: ENOENT/],
    ['nonsense', pool.key, /is not a transaction of wallets permit/],
    [JSON.stringify({ ...carried, raw_data: '0a' }), pool.key, /./],
    [JSON.stringify({ ...carried, signatures: ['00'] }), pool.key, /a signature has another form/],
    [JSON.stringify(carried), 'secret words', /Standard input has no key/],
  ]
  for (const [text, key, why] of refused) {
    const name = text === '' ? `${file}.absent` : file
    if (text !== '') await writeFile(file, text)
    const said = await type(key, 'wallets', 'sign', name)
    assert.notEqual(said.code, 0)
    assert.match(said.err, why)
    assert.ok(!said.err.includes(pool.key))
  }
  await writeFile(file, JSON.stringify({ ...carried, tx_id: 'f'.repeat(64) }))
  const unsigned = await type('', 'wallets', 'broadcast', file, ...NODE)
  assert.match(unsigned.err, /is not signed yet/)
  const signed = await json(pool.key, 'wallets', 'sign', file)
  assert.equal(signed.tx_id, carried.tx_id, 'the id is worked out again')
  assert.equal(signed.signed_by, pool.address)
  assert.match(signed.says[0], /^Permission 3 \(penstock pool\)/, 'what is ours comes first')
  assert.match(signed.says[1], new RegExp(`^${pool.address} belongs to ${pool.address}`))
  const stranger = await type(hot.key, 'wallets', 'sign', file)
  assert.equal(stranger.code, 0)
  const sent = await type('', 'wallets', 'broadcast', file, ...NODE)
  assert.equal(sent.code, 1, 'the chain takes no signature of a stranger')
})

test('what is compared before and after signing stands line by line', async (t) => {
  const { file, type } = await operator(t)
  const wanted = ['--kind', 'pool', '--hot-key', hot.address, '--file', file]
  const made = await type('', 'wallets', 'permit', pool.address, ...wanted, ...NODE)
  // The note at the end names the file, however long its path is.
  const lines = made.out.split('\n').filter((line) => !line.includes(file))
  assert.deepEqual(
    lines.filter((line) => line.length > 100),
    [],
  )
  const permissions = lines.filter((line) => line.startsWith('- '))
  assert.match(permissions[0]!, /^- Permission 3 \(penstock pool\)/)
  assert.match(permissions[2]!, /^- Permission 2 \(active\)/)
  assert.match(made.out, /In the file of wallets: "permission_id": 3\./)
  const signed = await type(pool.key, 'wallets', 'sign', file)
  const told = (out: string) => out.split('\n').filter((line) => /^(- | {2})/.test(line))
  assert.deepEqual(told(signed.out), told(made.out), 'the same, from the bytes')
})

test('a wallet stakes with the key of its owner, and no more than it has', async (t) => {
  const { scene, file, type, json } = await operator(t)
  const stake = (amount: string) =>
    type(
      '',
      'wallets',
      'stake',
      pool.address,
      amount,
      '--resource',
      'energy',
      '--file',
      file,
      ...NODE,
    )
  const beyond = await stake('20001')
  assert.deepEqual([beyond.code, beyond.err.includes('20000 TRX that are not staked')], [1, true])
  assert.match((await stake('0.5')).err, /a whole number of TRX/)
  await json('', 'wallets', 'stake', pool.address, '1', '--resource', 'bandwidth', ...NODE)
  const made = await stake('1500')
  assert.match(made.out, new RegExp(`- ${pool.address} stakes 1500 TRX for energy\\.`))
  const stranger = await json(hot.key, 'wallets', 'sign', file)
  assert.equal(stranger.signed_by, hot.address)
  assert.equal((await type('', 'wallets', 'broadcast', file, ...NODE)).code, 1, 'not its owner')
  await stake('1500')
  assert.match(
    (await json(pool.key, 'wallets', 'sign', file)).says[0],
    /stakes 1500 TRX for energy/,
  )
  assert.equal((await type('', 'wallets', 'broadcast', file, ...NODE)).code, 0)
  scene.mine()
  const body = JSON.stringify({ address: pool.address, visible: true })
  const answer = JSON.stringify(scene.devchain.request('POST', '/wallet/getaccount', body))
  assert.match(answer, /1500000000/, 'it is staked')
})

test('a stake is taken back, withdrawn when it has come out, and staked again', async (t) => {
  const { scene, type, carry } = await operator(t)
  const change = (...words: string[]) => carry(pool.key, words[0]!, pool.address, ...words.slice(1))
  const refused = async (why: RegExp, ...words: string[]) => {
    const { code, err } = await type('', 'wallets', words[0]!, pool.address, ...words.slice(1))
    assert.notEqual(code, 0)
    assert.match(err, why)
    assert.equal(err.trim().split('\n').length, 1, err)
  }
  const NOT_SENT = ['--file', '/dev/null', ...NODE]
  await refused(
    /has 0 TRX staked for energy that are not delegated/,
    'unstake',
    '1',
    ...['--resource', 'energy'],
    ...NOT_SENT,
  )
  await refused(/has unstaked has come out\.$/m, 'withdraw', ...NOT_SENT)
  await refused(/is taking nothing back/, 'cancel-unstake', ...NOT_SENT)
  await change('stake', '1000', '--resource', 'energy')
  scene.do(pool, 'DelegateResourceContract', {
    balance: 300n * TRX,
    resource: 'ENERGY',
    receiver_address: recharge.hex,
  })
  await refused(
    /has 700 TRX staked for energy that are not delegated, and 300 that are/,
    'unstake',
    '701',
    '--resource',
    'energy',
    ...NOT_SENT,
  )
  const made = await change('unstake', '200', '--resource', 'energy')
  assert.match(made.says[0], /begins to take 200 TRX back that are staked for energy/)
  await refused(/the next will have on 2026-/, 'withdraw', ...NOT_SENT)
  const free = () => scene.balance(pool)
  scene.wait(14 * 86_400)
  const before = free()
  assert.match((await change('withdraw')).says[0], /moves to its balance what was unstaked/)
  assert.equal(free() - before, 200n * TRX)
  await change('unstake', '100', '--resource', 'energy')
  assert.match((await change('cancel-unstake')).says[0], /stakes again/)
  await refused(/is taking nothing back/, 'cancel-unstake', ...NOT_SENT)
  for (let i = 0; i < 32; i++) {
    scene.do(pool, 'UnfreezeBalanceV2Contract', { unfreeze_balance: TRX, resource: 'ENERGY' })
  }
  await refused(
    /is unstaking 32 times already/,
    'unstake',
    '1',
    '--resource',
    'energy',
    ...NOT_SENT,
  )
})

test('the address of a hot key is told, and nothing of the key', async (t) => {
  const { type } = await operator(t)
  const told = await type(`${hot.key}\n`, 'wallets', 'address')
  assert.deepEqual([told.code, told.out.includes(hot.address)], [0, true], told.err)
  assert.ok(!(told.out + told.err).includes(hot.key))
  for (const wrong of ['', hot.key.slice(1), `0x${hot.key}`]) {
    const { code, out, err } = await type(wrong, 'wallets', 'address')
    assert.deepEqual([code, out], [2, ''])
    assert.match(err, /no key: 64 hexadecimal/)
  }
})

test('a wallet for deposits is made offline, and its words go into one file alone', async (t) => {
  const { file, type } = await operator(t)
  const made = await type('', 'wallets', 'generate', file, '--json')
  assert.equal(made.code, 0, made.err)
  const { deposit_xpub, first_address } = JSON.parse(made.out)
  const words = (await readFile(file, 'utf8')).trim()
  assert.equal(words.split(' ').length, 24)
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  const account = HDKey.fromMasterSeed(mnemonicToSeedSync(words)).derive("m/44'/195'/0'")
  assert.equal(account.publicExtendedKey, deposit_xpub)
  assert.equal(depositAddresses(deposit_xpub)(0), first_address)
  for (const word of words.split(' ')) assert.ok(!made.out.includes(` ${word} `), word)
  const again = await type('', 'wallets', 'generate', file)
  assert.deepEqual([again.code, again.out], [1, ''])
  assert.match(again.err, /is there already/)
  assert.equal((await readFile(file, 'utf8')).trim(), words, 'it is not written over')
})

test('what would leave a key too many rights is refused before anything is signed', async (t) => {
  const { type, carry } = await operator(t)
  const permit = (...more: string[]) =>
    type('', 'wallets', 'permit', pool.address, '--kind', 'pool', ...more, ...NODE)
  const owner = await permit('--hot-key', pool.address)
  assert.deepEqual(
    [owner.code, owner.err],
    [1, `${pool.address} is in the owner permission: take another hot key.\n`],
  )
  assert.match(
    (await permit('--hot-key', hot.address, '--permission-id', '5')).err,
    /no permission 5 to replace/,
  )
  assert.match((await permit()).err, /--hot-key is missing/)
  assert.match((await type('', 'wallets', 'check', '--node-url', 'ftp://x')).err, /is not the http/)
  const nobody = await type(
    '',
    'wallets',
    'permit',
    hot.address,
    '--kind',
    'pool',
    '--hot-key',
    next.address,
    ...NODE,
  )
  assert.match(nobody.err, /is not active on the chain/)
  await carry(pool.key, 'permit', pool.address, '--kind', 'activation', '--hot-key', hot.address)
  assert.match(
    (await permit('--hot-key', hot.address)).err,
    /is in permission 3 too: forbid it first/,
  )
  const unknown = await type(
    '',
    'wallets',
    'forbid',
    pool.address,
    '--hot-key',
    next.address,
    ...NODE,
  )
  assert.match(unknown.err, /is in no active permission/)
})

test('a permission that takes the place of another leaves all others as they are', async (t) => {
  const { scene, carry } = await operator(t)
  const permit = (kind: string, hot_key: string, ...more: string[]) =>
    carry(pool.key, 'permit', pool.address, '--kind', kind, '--hot-key', hot_key, ...more)
  assert.equal((await permit('activation', next.address)).permission_id, 3)
  assert.equal((await permit('pool', hot.address, '--permission-id', '2')).permission_id, 2)
  type ActivePermission = { id: number; permission_name: string; keys: { address: string }[] }
  const given = scene.account(pool).active_permission as ActivePermission[]
  assert.deepEqual(
    given.map(({ id, permission_name, keys }) => [id, permission_name, keys[0]!.address]),
    [
      [2, 'penstock pool', hot.hex],
      [3, 'penstock activation', next.hex],
    ],
  )
})

test('the last active permission is left to the owner, because the chain wants one', async (t) => {
  const { scene, carry } = await operator(t)
  const all = [
    'permit',
    pool.address,
    '--kind',
    'pool',
    '--hot-key',
    hot.address,
    '--permission-id',
    '2',
  ]
  assert.equal((await carry(pool.key, ...all)).permission_id, 2)
  await carry(pool.key, 'forbid', pool.address, '--hot-key', hot.address)
  const [left, ...more] = scene.account(pool).active_permission as { keys: { address: string }[] }[]
  assert.equal(more.length, 0)
  assert.deepEqual(left?.keys, [{ address: pool.hex, weight: 1 }])
})
