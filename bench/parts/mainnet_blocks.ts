// Blocks as large as the main network's average of January 2026, in the JSON of a node: 383
// transactions, 0.4 MB, and 0.25 MB of receipts. The mix is an assumption: transfers of TRX, USDT
// and stakes in like parts, some calls of other contracts. A few dozen blocks are made; further
// ones repeat them under other numbers and times, and with the number in the bytes of each
// transaction, so that ids are new and true. They are written into a copy; what has to be hashed
// for that is hashed when the chain grows, so that serving a block costs next to nothing.

import { createHash, hash } from 'node:crypto'
import { addressToHex } from 'penstock-tron/address.ts'
import type { Message } from 'penstock-tron/protobuf.ts'
import { USDT } from 'penstock-tron/tokens.ts'
import { contract, encodeRawData, type RawData, transactionId } from 'penstock-tron/transaction.ts'

/** How many of each kind a block has. */
const MIX = {
  transfer: 150,
  usdt: 106,
  swap: 22,
  failed: 8,
  delegate: 45,
  undelegate: 42,
  trc10: 10,
}
const DISTINCT = 48
/** Every fifth address is one of these few, as exchanges and the pools of the market are; the
 *  others are met once. */
const BUSY_ADDRESSES = 300
/** Numbers keep this many digits, so that they can be written over one another. */
const DIGITS = 8
export const FIRST_NUMBER = 70_000_000
export const BLOCK_MS = 3_000

export const TRANSACTIONS = Object.values(MIX).reduce((sum, one) => sum + one, 0)

const usdt = addressToHex(USDT)
const TRANSFER_TOPIC = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const SWAP_TOPIC = 'd78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822'

/** Numbers that are the same in every run. */
function drawer(seed: number) {
  let state = seed
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state
  }
  let hashed = seed
  const hex = (length: number) => {
    hashed += 1
    const seeded = (i: number) =>
      createHash('sha512').update(`${seed}/${hashed}/${i}`).digest('hex')
    return Array.from({ length: Math.ceil(length / 128) }, (_, i) => seeded(i))
      .join('')
      .slice(0, length)
  }
  const below = (limit: number) => Math.floor((next() / 2 ** 32) * limit)
  const busy = Array.from(
    { length: BUSY_ADDRESSES },
    (_, i) => `41${createHash('sha1').update(`busy ${i}`).digest('hex')}`,
  )
  const address = () => (below(5) === 0 ? busy[below(BUSY_ADDRESSES)]! : `41${hex(40)}`)
  return { hex, below, address }
}

type Draw = ReturnType<typeof drawer>
type Operation = {
  type: string
  value: Message
  fee_limit?: number
  receipt: Message
  ret?: string
}

const word = (hex: string) => hex.padStart(64, '0')
const amountWord = (value: number) => word(value.toString(16))
const log = (address: string, topics: string[], data: string) => ({
  address: address.slice(2),
  topics,
  data,
})
const transferLog = (token: string, [from, to]: [string, string], amount: number) =>
  log(token, [TRANSFER_TOPIC, word(from.slice(2)), word(to.slice(2))], amountWord(amount))

const makers: Record<keyof typeof MIX, (draw: Draw) => Operation> = {
  transfer: ({ address, below }) => ({
    type: 'TransferContract',
    value: { owner_address: address(), to_address: address(), amount: 1 + below(50_000_000_000) },
    receipt: { receipt: { net_usage: 267 } },
  }),
  usdt: ({ address, below }) =>
    usdtTransfer([address(), address()], { amount: 1 + below(9_000_000_000), failed: false }),
  failed: ({ address, below }) =>
    usdtTransfer([address(), address()], { amount: 1 + below(9_000_000_000), failed: true }),
  swap: (draw) => swap(draw),
  delegate: ({ address, below }) => ({
    type: 'DelegateResourceContract',
    value: {
      owner_address: address(),
      receiver_address: address(),
      resource: 'ENERGY',
      balance: 3_000_000_000 + below(4_000_000_000),
    },
    receipt: { receipt: { net_usage: 281 } },
  }),
  undelegate: ({ address, below }) => ({
    type: 'UnDelegateResourceContract',
    value: {
      owner_address: address(),
      receiver_address: address(),
      resource: 'ENERGY',
      balance: 3_000_000_000 + below(4_000_000_000),
    },
    receipt: { receipt: { net_usage: 283 } },
  }),
  trc10: ({ address, below }) => ({
    type: 'TransferAssetContract',
    value: {
      asset_name: '31303034373736',
      owner_address: address(),
      to_address: address(),
      amount: 1 + below(1_000_000),
    },
    receipt: { receipt: { net_usage: 281 } },
  }),
}

function usdtTransfer(
  [from, to]: [string, string],
  { amount, failed }: { amount: number; failed: boolean },
): Operation {
  const receipt = failed
    ? {
        fee: 3_000_000,
        contractResult: [''],
        contract_address: usdt,
        result: 'FAILED',
        resMessage: Buffer.from("Not enough energy for 'SSTORE' operation executing").toString(
          'hex',
        ),
        receipt: {
          energy_fee: 3_000_000,
          energy_usage_total: 30_000,
          net_usage: 345,
          result: 'OUT_OF_ENERGY',
        },
      }
    : {
        contractResult: [amountWord(1)],
        contract_address: usdt,
        log: [transferLog(usdt, [from, to], amount)],
        receipt: {
          energy_usage: 64_285,
          energy_usage_total: 64_285,
          net_usage: 345,
          result: 'SUCCESS',
          energy_penalty_total: 49_635,
        },
      }
  return {
    type: 'TriggerSmartContract',
    value: {
      data: `a9059cbb${word(to.slice(2))}${amountWord(amount)}`,
      owner_address: from,
      contract_address: usdt,
    },
    fee_limit: 100_000_000,
    receipt,
    ret: failed ? 'OUT_OF_ENERGY' : 'SUCCESS',
  }
}

/** Sells TRX for USDT: a value sent along, one sent on, two transfers of tokens and two further
 *  events. */
function swap({ address, hex, below }: Draw): Operation {
  const [owner, router, pair, wrapped] = [address(), address(), address(), address()]
  const [sold, bought] = [1_000_000 + below(9_000_000_000), 1_000_000 + below(2_000_000_000)]
  const logs = [
    transferLog(wrapped, [router, pair], sold),
    transferLog(usdt, [pair, owner], bought),
    log(pair, [hex(64)], hex(128)),
    log(pair, [SWAP_TOPIC, word(router.slice(2)), word(owner.slice(2))], hex(256)),
  ]
  const internal = [
    ...[
      {
        caller_address: router,
        transferTo_address: wrapped,
        callValueInfo: [{ callValue: sold }],
        note: '63616c6c',
      },
    ],
    ...[
      { caller_address: router, transferTo_address: pair, callValueInfo: [{}], note: '63616c6c' },
    ],
  ].map((one) => ({ hash: hex(64), ...one }))
  return {
    type: 'TriggerSmartContract',
    value: {
      data: hex(8 + 7 * 64),
      owner_address: owner,
      contract_address: router,
      call_value: sold,
    },
    fee_limit: 200_000_000,
    receipt: {
      contractResult: [hex(256)],
      contract_address: router,
      log: logs,
      internal_transactions: internal,
      receipt: {
        energy_usage_total: 240_000,
        energy_fee: 24_000_000,
        net_usage: 600,
        result: 'SUCCESS',
      },
    },
  }
}

/** One block's JSON and that of its receipts, and where its number, its ids and its times are in
 *  them. `raws` are the bytes of the transactions. */
type Template = { block: BlockBytes; receipts: BlockBytes; raws: Buffer[] }
/** `references`: where the JSON has the bytes that make a transaction another; `tx_ids`: where it
 *  has the ids. */
type BlockBytes = Record<
  'numbers' | 'ids' | 'parents' | 'times' | 'tx_ids' | 'references',
  number[]
> & { bytes: Buffer }

/** Where the bytes of a transaction have the first half of its reference to a block: here the
 *  number goes. */
const REFERENCE_AT = 6

function templateOf(seed: number): Template {
  const draw = drawer(seed)
  const kinds = Object.entries(MIX).flatMap(
    ([kind, count]) => Array(count).fill(kind) as (keyof typeof MIX)[],
  )
  const made = kinds
    .map((kind) => ({ order: draw.below(2 ** 31), one: makers[kind](draw) }))
    .toSorted((a, b) => a.order - b.order)
    .map(({ one }) => ({ one, transaction: transactionOf(draw, one) }))
  const id_mark = 'b'.repeat(64)
  const parent_mark = 'c'.repeat(64)
  const raw_data = {
    number: 99_999_999,
    txTrieRoot: draw.hex(64),
    witness_address: draw.address(),
    parentHash: parent_mark,
    version: 34,
    timestamp: 9_999_999_999_999,
  }
  const block = {
    blockID: id_mark,
    block_header: { raw_data, witness_signature: draw.hex(130) },
    transactions: made.map(({ transaction }) => transaction),
  }
  const receipts = made.map(({ one, transaction }) => ({
    id: transaction.txID,
    blockNumber: 99_999_999,
    blockTimeStamp: 9_999_999_999_999,
    contractResult: [''],
    ...one.receipt,
  }))
  const transactions = made.map(({ transaction }) => transaction)
  const raws = transactions.map(({ raw_data_hex }) => Buffer.from(raw_data_hex, 'hex'))
  return { block: written(block, transactions), receipts: written(receipts, transactions), raws }
}

function transactionOf(draw: Draw, { type, value, fee_limit, ret = 'SUCCESS' }: Operation) {
  const raw_data: RawData = {
    contract: [contract(type, value)],
    ref_block_bytes: draw.hex(4),
    ref_block_hash: draw.hex(16),
    expiration: 1_780_000_060_000 + draw.below(60_000),
    ...(fee_limit === undefined ? {} : { fee_limit }),
    timestamp: 1_780_000_000_000 + draw.below(60_000),
  }
  const bytes = encodeRawData(raw_data)
  return {
    ret: [{ contractRet: ret }],
    signature: [draw.hex(130)],
    txID: transactionId(bytes),
    raw_data,
    raw_data_hex: Buffer.from(bytes).toString('hex'),
  }
}

type TransactionBytes = { txID: string; raw_data_hex: string }

function written(value: unknown, transactions: readonly TransactionBytes[]): BlockBytes {
  const text = JSON.stringify(value)
  const all = (mark: string) => {
    const found: number[] = []
    for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, at + 1)) found.push(at)
    return found
  }
  const raws = transactions
    .map(({ raw_data_hex }) => text.indexOf(`"${raw_data_hex}"`))
    .filter((at) => at >= 0)
  return {
    bytes: Buffer.from(text, 'latin1'),
    numbers: all(':99999999,').map((at) => at + 1),
    times: all(':9999999999999').map((at) => at + 1),
    tx_ids: transactions.map(({ txID }) => text.indexOf(`"${txID}"`) + 1),
    references: raws.map((at) => at + 1 + 2 * REFERENCE_AT),
    ids: all('b'.repeat(64)),
    parents: all('c'.repeat(64)),
  }
}

export function idOf(number: number): string {
  return (
    number.toString(16).padStart(16, '0') +
    createHash('sha256').update(String(number)).digest('hex').slice(16)
  )
}

/** A chain of such blocks from FIRST_NUMBER on, of any length, one every three seconds. */
export function mainnetBlocks(first_ms: number) {
  const templates = Array.from({ length: DISTINCT }, (_, i) => templateOf(i + 1))
  const timeOf = (number: number) => first_ms + (number - FIRST_NUMBER) * BLOCK_MS
  const digitsOf = (number: number) => String(number).padStart(DIGITS, '0')
  const tx_ids = new Map<number, string[]>()
  /** The decimal digits of the number are hexadecimal ones too. */
  function txIds(number: number): string[] {
    const known = tx_ids.get(number)
    if (known) return known
    const reference = Buffer.from(digitsOf(number), 'hex')
    const made = templateFor(number).raws.map((raw) => {
      reference.copy(raw, REFERENCE_AT)
      return hash('sha256', raw, 'hex')
    })
    tx_ids.set(number, made)
    return made
  }
  function fill(
    { bytes, numbers, ids, parents, times, ...places }: BlockBytes,
    number: number,
  ): Buffer {
    const filled = Buffer.allocUnsafe(bytes.length)
    bytes.copy(filled)
    const digits = Buffer.from(digitsOf(number), 'latin1')
    for (const at of [...numbers, ...places.references]) digits.copy(filled, at)
    for (const [i, tx_id] of txIds(number).entries())
      filled.write(tx_id, places.tx_ids[i]!, 'latin1')
    for (const at of ids) filled.write(idOf(number), at, 'latin1')
    for (const at of parents) filled.write(idOf(number - 1), at, 'latin1')
    for (const at of times) filled.write(String(timeOf(number)), at, 'latin1')
    return filled
  }
  const templateFor = (number: number) => templates[number % DISTINCT]!
  return {
    /** Makes blocks ready, so that they are served fast. */
    prepare(first: number, last: number) {
      for (let number = first; number <= last; number++) txIds(number)
    },
    block: (number: number) => fill(templateFor(number).block, number),
    receipts: (number: number) => fill(templateFor(number).receipts, number),
    head: (number: number) => ({
      blockID: idOf(number),
      block_header: {
        raw_data: { number, parentHash: idOf(number - 1), version: 34, timestamp: timeOf(number) },
      },
    }),
  }
}
