import assert from 'node:assert/strict'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { HDKey } from '@scure/bip32'
import { deriveSandbox } from 'penstock-playground/sandbox.ts'
import { Misuse } from '../../config.ts'
import { LIMIT_NAMES } from '../signing/signing_limits.ts'
import { parseWallets, readWallets } from './wallet_file.ts'

const { wallets } = deriveSandbox('test test test test test test test test test test test junk')
const text = JSON.stringify(wallets)

test('a file of wallets is read as it is', () => {
  assert.deepEqual(parseWallets(text, 'w.json', 'needed'), wallets)
  const { refund, ...without } = wallets
  assert.ok(refund)
  assert.deepEqual(parseWallets(JSON.stringify(without), 'w.json', 'needed'), without)
  const { private_key: _, ...keyless } = wallets.activation
  const unsigned = JSON.stringify({ ...wallets, activation: keyless })
  assert.throws(() => parseWallets(unsigned, 'w.json', 'needed'), /private_key of/)
  assert.deepEqual(parseWallets(unsigned, 'w.json', 'optional').activation, keyless)
  const spoilt = { ...wallets, activation: { ...keyless, private_key: 'x' } }
  assert.throws(
    () => parseWallets(JSON.stringify(spoilt), 'w.json', 'optional'),
    /private_key of T\w+ is not a key/,
  )
})

test("an API alone refuses a file with keys, whichever wallet's, and takes it without", () => {
  const withoutKey = ({ private_key: _, ...wallet }: (typeof wallets.pool)[number]) => wallet
  const keyless = {
    ...wallets,
    pool: wallets.pool.map(withoutKey),
    activation: withoutKey(wallets.activation),
    refund: withoutKey(wallets.refund),
  }
  assert.deepEqual(parseWallets(JSON.stringify(keyless), 'w.json', 'refused'), keyless)
  for (const part of ['pool', 'activation', 'refund'] as const) {
    const one = JSON.stringify({ ...keyless, [part]: wallets[part] })
    assert.throws(
      () => parseWallets(one, 'w.json', 'refused'),
      /w\.json: it has the private_key of T\w+, and an API/,
    )
  }
  const { address } = wallets.pool[0]!
  const votes = [{ address, permission_id: 4 }]
  const voting = JSON.stringify({ ...keyless, votes })
  assert.deepEqual(parseWallets(voting, 'w.json', 'refused').votes, votes)
})

test('what is wrong with a file is one sentence that names it, and never shows a key', () => {
  const [first] = wallets.pool
  const key = first!.private_key
  const secret_xprv = HDKey.fromMasterSeed(new Uint8Array(32).fill(1)).privateExtendedKey
  const wrong: object[] = [
    { pool: [] },
    { pool: undefined },
    { pool: 'all' },
    { pool: [null] },
    { pool: [first, first] },
    { votes: 'all' },
    { votes: {} },
    { limits: [] },
    { pool: [{ ...first, address: 'T123' }] },
    { pool: [{ ...first, permission_id: '2' }] },
    { pool: [{ ...first, permission_id: 1.5 }] },
    { pool: [{ ...first, private_key: `${key}00` }] },
    { pool: [{ ...first, private_key: undefined }] },
    { pool: [{ ...first, spare_keys: 'T123' }] },
    { pool: [{ ...first, spare_keys: ['T123'] }] },
    { activation: undefined },
    { activation: { ...wallets.activation, private_key: 'x' } },
    { refund: { ...wallets.refund, address: '' } },
    { recharge_address: 'nowhere' },
    { recharge_address: undefined },
    { deposit_xpub: undefined },
    { deposit_xpub: 'xpub' },
    { deposit_xpub: secret_xprv },
  ]
  for (const change of wrong) {
    assert.throws(
      () => parseWallets(JSON.stringify({ ...wallets, ...change }), 'w.json', 'needed'),
      (thrown) => {
        assert.ok(thrown instanceof Misuse, `${JSON.stringify(change)}: ${String(thrown)}`)
        assert.match(thrown.message, /^w\.json: [^\n]+\.$/)
        for (const hidden of [key, secret_xprv, wallets.activation.private_key]) {
          assert.ok(!thrown.message.includes(hidden))
        }
        return true
      },
      JSON.stringify(change),
    )
  }
  for (const nonsense of ['', '{', '[]', 'null', '5', '"x"']) {
    assert.throws(() => parseWallets(nonsense, 'w.json', 'needed'), Misuse, nonsense)
  }
  for (const plain of ['5', '"x"', 'true'])
    assert.throws(
      () => parseWallets(plain, 'w.json', 'needed'),
      /^Misuse: w\.json: it is not an ob/,
    )
})

const read = (more: object) =>
  parseWallets(JSON.stringify({ ...wallets, ...more }), 'w.json', 'needed')

test('a wallet of the pool votes once, with another key than the one that delegates', () => {
  const [first] = wallets.pool
  const voting = { ...first!, permission_id: 4, private_key: wallets.activation.private_key! }
  assert.deepEqual(read({ votes: [voting] }).votes, [voting])
  assert.throws(() => read({ votes: [voting, voting] }), /a wallet is in votes twice\.$/)
  assert.throws(() => read({ votes: [first] }), /votes has the key of T\w+ that delegates/)
  const foreign = { ...voting, address: wallets.recharge_address }
  assert.throws(() => read({ votes: [foreign] }), /votes has T\w+, which is not in the pool/)
})

test('deposits are collected to addresses alone, and never to the one of recharges', () => {
  const { address } = wallets.activation
  assert.deepEqual(read({ collect_to: [address] }).collect_to, [address])
  assert.throws(() => read({ collect_to: [address, 'T123'] }), /collect_to is not a list of addr/)
  assert.throws(() => read({ collect_to: address }), /collect_to is not a list of addresses/)
  const { recharge_address } = wallets
  assert.throws(() => read({ collect_to: [recharge_address] }), /collect_to has recharge_address/)
})

test('a limit may be nothing at all, but no less and no part of a sun', () => {
  const [name] = LIMIT_NAMES
  assert.deepEqual(read({ limits: { [name]: 0 } }).limits, { [name]: 0 })
  for (const value of [-1, 0.5, '1', null])
    assert.throws(() => read({ limits: { [name]: value } }), /is not a whole number\.$/)
})

test('a file that others can read is refused, and so is one that is not there', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-wallets-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'wallets.json')
  await assert.rejects(readWallets(file, 'needed'), Misuse)
  await writeFile(file, text, { mode: 0o600 })
  assert.deepEqual(await readWallets(file, 'needed'), wallets)
  for (const mode of [0o640, 0o604, 0o666]) {
    await chmod(file, mode)
    await assert.rejects(readWallets(file, 'needed'), /chmod 600/)
  }
})
