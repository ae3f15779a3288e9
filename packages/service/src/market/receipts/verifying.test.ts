// What is wrong with a receipt, held against blocks and bytes that are written by hand.

import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { CompactSign } from 'jose'
import { person } from 'penstock-devchain/scene.ts'
import { addressToHex } from 'penstock-tron/address.ts'
import { contract, encodeRawData, transactionId } from 'penstock-tron/transaction.ts'
import type { Block, Side } from '../../chain/node/node.ts'
import type { Receipt } from './receipts.ts'
import { claimsOf, compareWithChain, verifyReceipt, wrongContents } from './verifying.ts'

const TIME = '2026-10-08T15:26:32Z'
const address = person('bob').address
const bob = addressToHex(address)
const nina = addressToHex(person('nina').address)

type Bytes = { hash: string; raw_data_hex: string }

function written(type: string, value: Parameters<typeof contract>[1]): Bytes {
  const owner_address = addressToHex(person('pool').address)
  const raw = encodeRawData({
    ref_block_bytes: '0001',
    ref_block_hash: '0011223344556677',
    expiration: 1,
    contract: [contract(type, { owner_address, ...value })],
  })
  return { hash: transactionId(raw), raw_data_hex: Buffer.from(raw).toString('hex') }
}

const OF_BOB = { receiver_address: bob, balance: 2_000_000 }
const GIVEN = written('DelegateResourceContract', { ...OF_BOB, resource: 'ENERGY' })
const GIVEN_TOO = written('DelegateResourceContract', OF_BOB)
const BACK = written('UnDelegateResourceContract', { ...OF_BOB, resource: 'ENERGY' })
const ACTIVATED = written('AccountCreateContract', { account_address: bob })
const PAID = written('TransferContract', { to_address: bob, amount: 2_000_000 })
const ALL = [GIVEN, GIVEN_TOO, BACK, ACTIVATED, PAID]

const place = (hash: string, block_number = 90) => ({
  hash,
  block_number,
  block_id: `block ${block_number}`,
  block_time: TIME,
})

type Part = Receipt['parts'][number]

const part = (values: Partial<Part> = {}): Part => ({
  resource: 'energy',
  amount: 50,
  stake_sun: 2_000_000,
  units_of_stake: 60,
  ...place(GIVEN.hash),
  expires_at: TIME,
  reclaim_hash: null,
  reclaim_block_number: null,
  ...values,
})

const receipt = (values: Partial<Receipt> = {}): Receipt => ({
  receipt: 1,
  state: 'delivered',
  service: 'Penstock',
  network: null,
  issued_at: TIME,
  order: {
    id: 'o1',
    external_id: null,
    service: 'energy',
    params: { address, amounts: { energy: 50 }, duration: 1, activate_address: false },
    amount: 1 as unknown as Receipt['order']['amount'],
    created_at: TIME,
  },
  activation: null,
  parts: [part()],
  entries: [],
  seal: null,
  ...values,
})

test('a receipt claims each transaction that it names, of the side that its state is of', () => {
  const back = { reclaim_hash: BACK.hash, reclaim_block_number: 95 }
  const named = (values: Partial<Receipt>) =>
    claimsOf(receipt(values)).map(
      ({ what, side, block_number }) => `${what} ${side} ${block_number}`,
    )
  assert.deepEqual(named({}), ['delegation head 90'])
  assert.deepEqual(named({ state: 'solid', parts: [part(back)] }), [
    'delegation solid 90',
    'reclaim head 95',
  ])
  assert.deepEqual(named({ state: 'ended', parts: [part(back), part()] }), [
    'delegation solid 90',
    'reclaim solid 95',
    'delegation solid 90',
  ])
  for (const half of [{ reclaim_hash: BACK.hash }, { reclaim_block_number: 95 }])
    assert.deepEqual(named({ parts: [part(half)] }), ['delegation head 90'])
  const activation = place(ACTIVATED.hash, 80)
  assert.deepEqual(named({ activation, state: 'solid', parts: [] }), ['activation solid 80'])
})

test('the bytes of a transaction do what is claimed of it, to the letter', () => {
  const [given] = claimsOf(receipt()) as [ReturnType<typeof claimsOf>[0]]
  const wrong = (of: Bytes, claim: Partial<typeof given> = {}) =>
    wrongContents({ ...given, hash: of.hash, ...claim }, of.raw_data_hex)
  assert.equal(wrong(GIVEN), null)
  assert.equal(wrong(BACK), 'it is a UnDelegateResourceContract')
  assert.equal(wrong(PAID), 'it is a TransferContract')
  // A resource that is not named is bandwidth.
  assert.equal(wrong(GIVEN_TOO), 'its resource is BANDWIDTH')
  assert.equal(wrong(GIVEN_TOO, { fields: { ...given.fields, resource: 'BANDWIDTH' } }), null)
  assert.equal(
    wrong(GIVEN, { fields: { ...given.fields, balance: '3' } }),
    'its balance is 2000000',
  )
  const to_nina = { ...given.fields, receiver_address: person('nina').address }
  assert.equal(wrong(GIVEN, { fields: to_nina }), `its receiver_address is ${address}`)
  const to_nobody = written('DelegateResourceContract', { balance: 2_000_000, resource: 'ENERGY' })
  assert.equal(wrong(to_nobody), 'its receiver_address is undefined')
  const to_half = { ...OF_BOB, receiver_address: bob.slice(0, 20), resource: 'ENERGY' }
  const half = written('DelegateResourceContract', to_half)
  assert.equal(wrong(half), `its receiver_address is ${bob.slice(0, 20)}`)
  const [activated] = claimsOf(receipt({ activation: place(ACTIVATED.hash), parts: [] }))
  assert.equal(wrongContents(activated!, ACTIVATED.raw_data_hex), null)
  for (const bytes of [undefined, 5, '', PAID.raw_data_hex])
    assert.equal(wrongContents(given, bytes), 'its bytes are not there')
  const nonsense = Buffer.from('ffff', 'hex')
  const hash = transactionId(nonsense)
  const said = wrongContents({ ...given, hash }, nonsense.toString('hex'))
  assert.equal(said, 'it is a transaction of another kind')
  assert.notEqual(nina, bob)
})

type Chain = { side?: Side; block?: Partial<Block> | null; failed?: boolean; unknown?: boolean }

/** What a node finds wrong whose block 90 has the first delegation. */
async function compared(claimed: Receipt, chain: Chain = {}) {
  const asked: string[] = []
  const block = {
    id: 'block 90',
    time: new Date(TIME),
    transactions: [BACK, GIVEN].map(({ hash }) => ({
      tx_id: hash,
      succeeded: hash === BACK.hash || !chain.failed,
    })),
    ...chain.block,
  } as Block
  const comparisons = await compareWithChain(
    {
      node: {
        async blocks(first, last, side) {
          asked.push(`${first}-${last} ${side}`)
          return chain.block === null ? [] : [block]
        },
      },
      async ask(path, body) {
        assert.equal(path, '/wallet/gettransactionbyid')
        const { value } = body as { value: string }
        const found = ALL.find(({ hash }) => hash === value)
        return chain.unknown ? {} : { raw_data_hex: found?.raw_data_hex }
      },
    },
    claimed,
  )
  return { asked, wrong: comparisons.map(({ wrong }) => wrong), comparisons }
}

test('a transaction is in the very block that a receipt names, and has succeeded', async () => {
  const right = await compared(receipt())
  const { hash } = GIVEN
  const what = 'delegation'
  assert.deepEqual(right.comparisons, [{ what, hash, block_number: 90, wrong: null }])
  assert.deepEqual(right.asked, ['90-90 head'])
  const rows: [what: string, claimed: Receipt, chain: Chain, wrong: string | null][] = [
    ['no block', receipt(), { block: null }, 'the head chain has no block 90'],
    ['not solid', receipt({ state: 'solid' }), { block: null }, 'the solid chain has no block 90'],
    ['another block', receipt(), { block: { id: 'x' } }, 'block 90 is x'],
    ['of no id', receipt({ parts: [part({ block_id: null })] }), { block: { id: 'x' } }, null],
    [
      'another time',
      receipt(),
      { block: { time: new Date('2026-10-08T15:26:33Z') } },
      'block 90 was made at 2026-10-08T15:26:33Z',
    ],
    ['an empty block', receipt(), { block: { transactions: [] } }, 'block 90 does not have it'],
    ['a failure', receipt(), { failed: true }, 'it failed'],
    ['no bytes', receipt(), { unknown: true }, 'its bytes are not there'],
    [
      'another resource',
      receipt({ parts: [part({ resource: 'bandwidth' })] }),
      {},
      'its resource is ENERGY',
    ],
  ]
  for (const [what, claimed, chain, wrong] of rows)
    assert.deepEqual((await compared(claimed, chain)).wrong, [wrong], what)
  const back = { reclaim_hash: BACK.hash, reclaim_block_number: 90 }
  // Neither id nor time is said of what takes it back.
  const both = await compared(receipt({ parts: [part(back)] }), { block: { time: new Date(0) } })
  assert.deepEqual(both.wrong, ['block 90 was made at 1970-01-01T00:00:00Z', null])
})

test('what was signed as a receipt is one, and nothing else that the key has signed', async () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const keys = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'EdDSA' }] }
  const signed = (of: object, typ?: string) =>
    new CompactSign(Buffer.from(JSON.stringify(of)))
      .setProtectedHeader({ alg: 'EdDSA', kid: 'k', ...(typ !== undefined && { typ }) })
      .sign(privateKey)
  const typ = 'penstock-receipt+json'
  const right = await signed(receipt(), typ)
  assert.deepEqual(await verifyReceipt(right, keys), { receipt: receipt(), key_id: 'k' })
  const refused: [jws: string, why: RegExp][] = [
    [await signed(receipt(), 'penstock-invoice+json'), /it is signed as penstock-invoice\+json/],
    [await signed(receipt()), /it is signed as something else/],
    [await signed({ receipt: 2 }, typ), /it is of a form that is not known here/],
    [`${right}=`, /it is not three parts in base64url/],
    [right.replace('.', '.='), /it is not three parts in base64url/],
    [`${right}.`, /This is no receipt of the service: Invalid/],
  ]
  for (const [jws, why] of refused) await assert.rejects(verifyReceipt(jws, keys), why)
  await assert.rejects(verifyReceipt(right, { keys: [] }), /no applicable key/)
})
