import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressNumbered, idNumbered } from 'penstock-test/harness/logged_world.ts'
import { addressToHex } from 'penstock-tron/address.ts'
import { USDT } from 'penstock-tron/tokens.ts'
import { addressOfBare } from '../../chain/transfers/bare_addresses.ts'
import { countTransfers, transferAt } from '../../chain/transfers/packed.ts'
import { HistoryReader } from './history_blocks.ts'
import type { FieldValue, HistoryRow } from './history_rows.ts'

/** Rows of blocks without transfers. */
const rowsOf = (ids: readonly (string | undefined)[]) =>
  ids.map((block_id, i) => ({
    row: i + 1,
    fields: {
      block: 100 + i,
      time: `2026-01-01T00:00:0${3 * i}Z`,
      ...Object.fromEntries(['tx', 'index', 'asset', 'from', 'to', 'amount'].map((x) => [x, ''])),
      ...(block_id !== undefined && { block_id }),
    },
  }))

function blocksOf(ids: readonly (string | undefined)[]) {
  const reader = new HistoryReader({ assets: new Map(), supplies: new Map() })
  const blocks = rowsOf(ids).map((row) => reader.read(row))
  return [...blocks, reader.end()].flatMap((one) => one?.block ?? [])
}

const idOf = (number: number) => `${number.toString(16).padStart(16, '0')}${'ab'.repeat(24)}`

test('a block may have no id; one that it has begins with its number', () => {
  for (const ids of [
    [undefined, undefined],
    ['', ''],
    [idOf(100), `0x${idOf(101).toUpperCase()}`],
  ]) {
    const blocks = blocksOf(ids)
    assert.deepEqual(
      blocks.map(({ number }) => number),
      [100, 101],
    )
    const said = ids.map((id) => (id ?? '').replace('0x', '').toLowerCase())
    assert.deepEqual(
      blocks.map(({ id }) => id),
      said,
    )
  }
  for (const wrong of [idOf(7), idOf(100).slice(1), idOf(100).slice(0, -1), 'x'])
    assert.throws(() => blocksOf([wrong]), /is no id of block 100 on TRON/)
})

const [A, B] = [addressNumbered(1), addressNumbered(2)]
const SUPPLY = 1_000n
/** A token of which it is known how much there is, and which is not followed. */
const OTHER = addressNumbered(9)

type Fields = Record<string, FieldValue>

const TRANSFER: Fields = {
  block: 100,
  time: '2026-01-01T00:00:00Z',
  tx: idNumbered(7),
  index: 0,
  event: 'transfer',
  asset: 'TRX',
  from: A,
  to: B,
  amount: 5,
}
/** A row of a block without a transfer. */
const NONE: Fields = { ...TRANSFER, tx: '', index: '', event: '', asset: '', amount: '' }

/** Reads rows that are a transfer of TRX but for what they say. */
function readRows(...rows: readonly Fields[]) {
  const assets = ['TRX', USDT].map((contract, number) => ({
    number,
    contract,
    symbol: number === 0 ? 'TRX' : 'USDT',
    decimals: 6,
  }))
  const reader = new HistoryReader({
    assets: new Map(assets.map((asset) => [asset.contract, asset])),
    supplies: new Map([USDT, OTHER].map((token) => [token, SUPPLY])),
  })
  const read = rows.map((row, i): HistoryRow => ({ row: i + 1, fields: { ...TRANSFER, ...row } }))
  const found = [...read.map((row) => reader.read(row)), reader.end()]
  const blocks = found.flatMap((one) => one ?? [])
  return { blocks, passed_over: reader.passed_over, found }
}

/** The transfers of the only block. */
function movesOf(...rows: readonly Fields[]) {
  const { blocks, passed_over } = readRows(...rows)
  assert.equal(blocks.length, 1)
  const { transfers, tx_ids } = blocks[0]!.block
  const moves = Array.from({ length: countTransfers(transfers) }, (_, i) => {
    const { asset, from, to, amount } = transferAt(transfers, i)
    const tx = Buffer.from(tx_ids.subarray(32 * i, 32 * i + 32)).toString('hex')
    return [asset, addressOfBare(from), addressOfBare(to), amount, Number(`0x${tx}`)]
  })
  return { moves, passed_over }
}

const timeOf = (time: FieldValue) => readRows({ time }).blocks[0]!.block.time.toISOString()

test('a whole number is one as such, as text, or of 64 bits, with all of its digits', () => {
  for (const amount of [5, '5', 5n, '0005'])
    assert.deepEqual(movesOf({ amount }).moves, [[0, A, B, 5n, 7]])
  const largest = 2n ** 64n - 1n
  assert.equal(movesOf({ amount: largest }).moves[0]![3], largest)
  assert.equal(movesOf({ amount: Number.MAX_SAFE_INTEGER }).moves[0]![3], 2n ** 53n - 1n)
  for (const nothing of [0, 0n, '0', '0'.repeat(78)])
    assert.equal(movesOf({ amount: nothing, index: nothing }).passed_over, 1)
  for (const [amount, says] of [
    [largest + 1n, 'its amount 18446744073709551616 is above any that there can be'],
    [2 ** 53, 'its amount 9007199254740992 has lost digits: write it as text or as 64 bits'],
    [1.5, 'its amount 1.5 has lost digits: write it as text or as 64 bits'],
    [-1, 'its amount -1 has lost digits: write it as text or as 64 bits'],
    [-1n, 'its amount is -1, and no whole number'],
    ['-1', 'its amount is -1, and no whole number'],
    ['0x10', 'its amount is 0x10, and no whole number'],
    ['0'.repeat(79), `its amount is ${'0'.repeat(79)}, and no whole number`],
    [true, 'its amount is true, and no whole number'],
    ['', 'its amount is nothing, and no whole number'],
    [null, 'its amount is nothing, and no whole number'],
    [undefined, 'its amount is nothing, and no whole number'],
  ] as const)
    assert.throws(() => readRows({ amount }), { message: `row 1: ${says}.` })
  for (const name of ['block', 'index'])
    assert.throws(() => readRows({ [name]: 'x' }), {
      message: `row 1: its ${name} is x, and no whole number.`,
    })
})

test('a time is one as such, as text of some zone, or in seconds or milliseconds', () => {
  const noon = '2026-01-01T12:00:00.000Z'
  for (const said of [
    new Date(noon),
    '2026-01-01T12:00:00Z',
    '2026-01-01 12:00:00',
    '2026-01-01 12:00:00 UTC',
    '2026-01-01T12:00:00.000UTC',
    '2026-01-01T14:30:00+02:30',
    '2026-01-01T09:30:00-0230',
    String(Date.parse(noon)),
    Date.parse(noon) / 1_000,
    BigInt(Date.parse(noon)),
  ])
    assert.equal(timeOf(said), noon, String(said))
  for (const [said, ms] of [
    [100_000_000, 100_000_000_000],
    [99_999_999_999, 99_999_999_999_000],
    [100_000_000_000, 100_000_000_000],
    [100_000_000_001, 100_000_000_001],
  ] as const)
    assert.equal(timeOf(said), new Date(ms).toISOString(), String(said))
  for (const [time, says] of [
    [new Date(Number.NaN), 'Invalid Date'],
    ['2026-13-01T00:00:00Z', '2026-13-01T00:00:00Z'],
    ['January 1, 2026', 'January 1, 2026'],
    [99_999_999, '99999999'],
    ['', 'nothing'],
    [undefined, 'nothing'],
  ] as const)
    assert.throws(() => readRows({ time }), { message: `row 1: its time is ${says}.` })
})

test('an address is one as TRON writes it, or its 21 bytes in hexadecimal digits', () => {
  const hex = addressToHex(A)
  for (const from of [A, hex, `0x${hex}`, hex.toUpperCase()])
    assert.deepEqual(movesOf({ from, to: B }).moves, [[0, A, B, 5n, 7]])
  for (const [wrong, says] of [
    [hex.slice(2), hex.slice(2)],
    [`42${hex.slice(2)}`, `42${hex.slice(2)}`],
    [`${hex}00`, `${hex}00`],
    [`${A.slice(0, -1)}${A.endsWith('z') ? 'y' : 'z'}`, undefined],
    [null, 'nothing'],
  ] as const) {
    const shown = says ?? wrong
    assert.throws(() => readRows({ from: wrong }), {
      message: `row 1: its from ${shown} is no address of TRON.`,
    })
    assert.throws(() => readRows({ event: 'freeze', asset: USDT, to: wrong }), {
      message: `row 1: its to ${shown} is no address of TRON.`,
    })
  }
})

test('transfers of what is not followed, of nothing and to oneself are passed over', () => {
  const { moves, passed_over } = movesOf(
    {},
    { index: 1, asset: OTHER, amount: SUPPLY + 1n },
    { index: 2, amount: 0 },
    { index: 3, to: A },
    { index: 5, tx: `0x${idNumbered(0xab).toUpperCase()}`, asset: USDT, amount: SUPPLY },
    { index: 6, tx: '', asset: OTHER, event: 'freeze' },
    { index: 7, event: '', from: B, to: A, amount: 1 },
  )
  assert.deepEqual(moves, [
    [0, A, B, 5n, 7],
    [1, A, B, SUPPLY, 0xab],
    [0, B, A, 1n, 7],
  ])
  assert.equal(passed_over, 4)
  for (const [wrong, says] of [
    [{ asset: USDT, amount: SUPPLY + 1n }, '1001 of USDT moved, and there are 1000'],
    [{ tx: 'ab' }, 'its transaction ab is no id of TRON'],
    [{ tx: '' }, 'its transaction nothing is no id of TRON'],
    [{ event: 'mint' }, 'its event is mint, and none of transfer, freeze, unfreeze'],
  ] as const)
    assert.throws(() => readRows(wrong), { message: `row 1: ${says}.` })
})

test('freezes are of followed tokens, in the order of their rows', () => {
  const { blocks, passed_over } = readRows(
    { event: 'freeze', asset: USDT, tx: '' },
    { event: 'unfreeze', asset: USDT, index: 1, to: A },
    { event: 'freeze', asset: OTHER, index: 2 },
  )
  assert.deepEqual(blocks[0]!.block.freezes, [
    [USDT, B, true],
    [USDT, A, false],
  ])
  assert.equal(passed_over, 1)
})

test('a block without a transfer is one row, and no row without a transfer is of another', () => {
  const { blocks, passed_over } = readRows(NONE)
  assert.deepEqual(blocks[0]!.block.transfers, new Uint8Array())
  assert.equal(passed_over, 0)
  assert.equal(movesOf(NONE, {}).moves.length, 1)
  for (const rows of [[{}, NONE], [{ ...NONE, asset: USDT }], [{ ...NONE, tx: idNumbered(7) }]])
    assert.throws(() => readRows(...rows), {
      message: `row ${rows.length}: its index is nothing, and no whole number.`,
    })
})

test('rows are in order: of one block by index and of one time, and block after block', () => {
  const next = { block: 101, time: '2026-01-01T00:00:01Z' }
  const { found } = readRows({ index: 3 }, { index: 9 }, next, { ...next, index: 1 })
  assert.deepEqual(
    found.map((one) => one && [one.row, one.block.number, countTransfers(one.block.transfers)]),
    [undefined, undefined, [1, 100, 2], undefined, [3, 101, 2]],
  )
  assert.deepEqual(readRows().found, [undefined], 'no row is no block')
  for (const [rows, says] of [
    [[{ index: 4 }, { index: 4 }], 'index 4 of block 100 is not after 4'],
    [[{ index: 4 }, { index: 3 }], 'index 3 of block 100 is not after 4'],
    [[{}, { index: 1, time: next.time }], 'block 100 has two times'],
    [[{}, { ...next, time: TRANSFER.time }], 'block 101 is not later than block 100'],
    [[{}, { block: 101, time: '2025-12-31T23:59:59Z' }], 'block 101 is not later than block 100'],
    [[{}, { block: 103 }], 'block 103 comes after 100: 2 blocks are missing'],
    [[{}, next, {}], 'block 100 comes after 101: a block stands once, and in order'],
    [[{}, { block: 99 }], 'block 99 comes after 100: a block stands once, and in order'],
  ] as [Fields[], string][])
    assert.throws(() => readRows(...rows), { message: `row ${rows.length}: ${says}.` })
})

test('columns have any of some names, and none that is needed may be missing', () => {
  const basis = { assets: new Map(), supplies: new Map() }
  const read = (fields: Fields) => new HistoryReader(basis).read({ row: 1, fields })
  for (const [name, other] of [
    ['block', 'blockNumber'],
    ['time', 'block_timestamp'],
    ['tx', 'transaction_hash'],
    ['index', 'log_index'],
    ['asset', 'contract_address'],
    ['from', 'sender'],
    ['to', 'receiver'],
    ['amount', 'raw_amount'],
  ] as const) {
    const { event: _, [name]: value, ...others } = TRANSFER
    read({ ...others, [name]: value })
    read({ ...others, [other]: value })
    assert.throws(() => read(others), new RegExp(`^Refused: row 1: it has no column ${name} or `))
  }
})
