// What of solid blocks is put into the log, and what is asked of tokens before.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import {
  addressNumbered,
  idNumbered,
  type LoggedMove,
  momentOf,
} from 'penstock-test/harness/logged_world.ts'
import {
  madeBlock,
  madeNode,
  storedBlock,
  type TokenWord,
} from 'penstock-test/harness/made_chain.ts'
import { numberWord, USDT } from 'penstock-tron/tokens.ts'
import type { StoredBlock } from '../../chain/follow/blocks.ts'
import { type FreezeEvent, type Move, pack } from '../../chain/follow/contents.ts'
import { addressOfBare } from '../../chain/transfers/bare_addresses.ts'
import { countTransfers, transferAt } from '../../chain/transfers/packed.ts'
import { transferLog } from '../../chain/transfers/postgres_log.ts'
import type { Sql } from '../../platform/database/sql.ts'
import {
  baseOf,
  newBlockFromNode,
  readAssets,
  readFlowBasis,
  recordEarlier,
  recordStep,
} from './flow_log.ts'

const [A, B, C] = [addressNumbered(1), addressNumbered(2), addressNumbered(3)]
const SUPPLY = 1_000n
const AMOUNT_MAX = 2n ** 64n - 1n
const OTHER = addressNumbered(9)
const TOKENS = new Set([USDT])

const saysSupply =
  (supply: () => bigint): TokenWord =>
  (_contract, selector) =>
    numberWord(selector === 'totalSupply()' ? supply() : 6n)

async function world(t: TestContext, says: TokenWord = saysSupply(() => SUPPLY)) {
  const { sql } = await freshDatabase(t)
  return { sql, node: madeNode([], says), tokens: TOKENS }
}

const moved = (amount: bigint, more: Partial<Move> = {}): Move => ({
  tx_id: idNumbered(7),
  kind: 'event',
  index: 1,
  asset: 'TRX',
  from: A,
  to: B,
  amount,
  ...more,
})

const freeze = (kind: FreezeEvent['kind'], address = A, token = USDT): FreezeEvent => ({
  tx_id: idNumbered(7),
  index: 1,
  kind,
  address,
  token,
})

/** A block with some moves and freezes. */
function stored(
  number: number,
  { moves = [], freezes = [] }: { moves?: Move[]; freezes?: FreezeEvent[] } = {},
): StoredBlock {
  const { id, time, contents } = storedBlock(madeBlock(number))
  return { number, id, time, contents: { ...contents, moves, freezes } }
}

/** Blocks that are confirmed and not read yet. */
async function follow(sql: Sql, blocks: readonly StoredBlock[]): Promise<void> {
  for (const { number, id, time, contents } of blocks)
    await sql`
      insert into block (number, id, parent_id, time, contents, read_from, outcomes_sha256)
      values (${number}, ${id}, 'x', ${time}, ${pack(contents)}, '{one}', '')`
  const last = blocks.at(-1)!.number
  await sql`
    insert into chain (head_number, head_id, head_time, solid_number, confirmed_number, seen_at,
      head_seen_at)
    values (${last}, 'x', now(), ${last}, ${last}, now(), now())
    on conflict (one) do update set head_number = ${last}, solid_number = ${last},
      confirmed_number = ${last}`
}

/** Amounts and assets in the log, block by block. */
async function logged(sql: Sql) {
  const blocks = await transferLog(sql).after(0, { limit: 1_000, base: 0n })
  return blocks.map(({ number, transfers }) => [
    number,
    ...Array.from({ length: countTransfers(transfers) }, (_, i) => {
      const { asset, amount } = transferAt(transfers, i)
      return `${amount} of ${asset}`
    }),
  ])
}

const freezes = async (sql: Sql) =>
  (
    await sql<{ address: string; frozen: boolean; number: bigint }>`
      select address, frozen, number from flow_freeze order by address, token`
  ).map(({ address, frozen, number }) => [address, frozen, Number(number)])

test('transfers of what is followed are in the log, but for nothing and to oneself', async (t) => {
  const { sql, ...needs } = await world(t)
  const block = stored(100, {
    moves: [
      moved(1n),
      moved(0n),
      moved(2n, { to: A }),
      moved(3n, { asset: OTHER }),
      moved(4n, { asset: USDT }),
      moved(SUPPLY, { asset: USDT }),
      moved(SUPPLY + 5n),
      moved(AMOUNT_MAX),
      moved(AMOUNT_MAX + 1n),
    ],
  })
  await follow(sql, [block, stored(101)])
  assert.equal(await recordStep({ sql, ...needs }).run(), true)
  const amounts = ['1 of 0', '4 of 1', '1000 of 1', '1005 of 0', `${AMOUNT_MAX} of 0`]
  assert.deepEqual(await logged(sql), [[100, ...amounts], [101]])
  const [first] = await transferLog(sql).after(0, { limit: 1, base: 0n })
  assert.equal(Buffer.from(first!.tx_ids).toString('hex'), idNumbered(7).repeat(5))
  const { from, to } = transferAt(first!.transfers, 1)
  assert.deepEqual([from, to].map(addressOfBare), [A, B])
  assert.equal(await recordStep({ sql, ...needs }).run(), false)
})

test('a token of which more moves than there was is asked again, and once', async (t) => {
  const supplies = [SUPPLY, 2n * SUPPLY, SUPPLY]
  const asked: bigint[] = []
  const supply = () => {
    asked.push(supplies.shift()!)
    return asked.at(-1)!
  }
  const { sql, ...needs } = await world(t, saysSupply(supply))
  const step = recordStep({ sql, ...needs })
  const more = (number: number, amount: bigint) =>
    stored(number, { moves: [moved(amount, { asset: USDT }), moved(7n)] })
  await follow(sql, [more(100, SUPPLY)])
  assert.equal(await step.run(), true)
  await step.reads.prepare!()
  assert.equal(asked.length, 1, 'a supply that is known is not asked for')
  await follow(sql, [more(101, 2n * SUPPLY)])
  assert.equal(await step.run(), true)
  assert.equal(asked.length, 2, 'it was issued since')
  await follow(sql, [more(102, 2n * SUPPLY + 1n)])
  assert.equal(await step.run(), true)
  assert.equal(asked.length, 3, 'there is less by now')
  await follow(sql, [more(103, 2n * SUPPLY)])
  assert.equal(await step.run(), true)
  assert.equal(asked.length, 3, 'as much as there ever was is real')
  assert.deepEqual(await logged(sql), [
    [100, '1000 of 1', '7 of 0'],
    [101, '2000 of 1', '7 of 0'],
    [102, '7 of 0'],
    [103, '2000 of 1', '7 of 0'],
  ])
  const { reads } = step
  const with_more = [more(104, 2n * SUPPLY + 1n)]
  await assert.rejects(
    sql.begin((tx) => reads.work(tx, with_more)),
    /^Outage: more of a token moved than there is$/,
  )
  assert.equal((await logged(sql)).length, 4, 'read with others, it is left to its own step')
})

test('what else is wrong with a portion is no doubt about a token', async (t) => {
  const { sql, ...needs } = await world(t)
  const step = recordStep({ sql, ...needs })
  await follow(sql, [stored(100)])
  await step.run()
  await sql`update cursor set number = 99`
  await assert.rejects(async () => step.run(), /flow_block_pkey/)
})

test('the last word of each list about each address stands, whatever is read later', async (t) => {
  const { sql, ...needs } = await world(t)
  const step = recordStep({ sql, ...needs })
  await step.reads.prepare!()
  const record = (blocks: StoredBlock[]) => sql.begin((tx) => step.reads.work(tx, blocks))
  await record([stored(100, { freezes: [freeze('added')] })])
  assert.deepEqual(await freezes(sql), [[A, true, 100]])
  await record([
    stored(101, { freezes: [freeze('removed'), freeze('added', B), freeze('added', C, OTHER)] }),
    stored(102, { freezes: [freeze('destroyed', C), freeze('removed', B), freeze('added')] }),
  ])
  assert.deepEqual(await freezes(sql), [
    [A, true, 102],
    [B, false, 102],
  ])
  const words = await transferLog(sql).after(0, { limit: 9, base: 0n })
  assert.deepEqual(
    words.map((block) => block.freezes.map(({ frozen }) => frozen)),
    [[true], [false, true], [false, true]],
  )
  const basis = await readFlowBasis({ sql, ...needs })
  const earlier = (number: number, more: FreezeEvent[]) =>
    sql.begin((tx) => recordEarlier(tx, [stored(number, { freezes: more })], basis))
  await earlier(99, [freeze('removed'), freeze('added', C)])
  await earlier(98, [freeze('removed', C)])
  await earlier(97, [freeze('added', OTHER)])
  const of = await freezes(sql)
  assert.deepEqual(
    of.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
    [
      [A, true, 102],
      [B, false, 102],
      [C, true, 99],
      [OTHER, true, 97],
    ].sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
  )
})

const text = (symbol: string) =>
  [
    numberWord(32n),
    numberWord(BigInt(symbol.length)),
    Buffer.from(symbol).toString('hex').padEnd(64, '0'),
  ].join('')

test('a followed token gets its number with decimals and a sensible symbol', async (t) => {
  const { sql } = await world(t)
  const six = numberWord(6n)
  const answering =
    (decimals: string | undefined, symbol: string | undefined): TokenWord =>
    (_contract, selector) => {
      if (selector === 'symbol()') return symbol
      return selector === 'decimals()' ? decimals : numberWord(5n)
    }
  const basisOf = (n: number, says: TokenWord) =>
    readFlowBasis({ sql, node: madeNode([], says), tokens: new Set([addressNumbered(n)]) })
  for (const [i, [decimals, symbol, found]] of (
    [
      [six, text('USDT'), [6, 'USDT']],
      [numberWord(18n), text('a.B-$9'), [18, 'a.B-$9']],
      [`${numberWord(0n)}ff`, `${text('X'.repeat(20))}00`, [0, 'X'.repeat(20)]],
      [six, text('X'.repeat(21)), [6]],
      [six, text(''), [6]],
      [six, text('a b'), [6]],
      [six, text('USDT').slice(0, -1), [6]],
      [six, undefined, [6]],
    ] as const
  ).entries()) {
    const token = addressNumbered(20 + i)
    const { assets, supplies } = await basisOf(20 + i, answering(decimals, symbol))
    assert.deepEqual([...supplies], [[token, 5n]])
    assert.deepEqual(assets.get(token), {
      number: i + 1,
      contract: token,
      decimals: found[0],
      symbol: found[1] ?? token,
    })
    assert.deepEqual(await readAssets(sql), [...assets.values()])
    const again = await basisOf(20 + i, answering(undefined, undefined))
    assert.deepEqual(again.assets, assets, 'it is asked once')
  }
  for (const [decimals, rule] of [
    [numberWord(19n), /has 19 decimals/],
    [six.slice(1), /^Outage: token \w+ does not answer decimals\(\)$/],
    [undefined, /^Outage: token \w+ does not answer decimals\(\)$/],
  ] as const)
    await assert.rejects(basisOf(40, answering(decimals, text('USDT'))), rule)
})

const move = (tx: number, asset: number): LoggedMove => ({ tx, from: A, to: B, asset, amount: 5n })

test('a block of a node is as the log has it, if the node has it', async (t) => {
  const { sql } = await world(t)
  const blocks = [madeBlock(100, { moves: [move(1, 0), move(2, 1)], frozen: [3] })]
  const node = madeNode(
    blocks,
    saysSupply(() => SUPPLY),
  )
  const basis = await readFlowBasis({ sql, node, tokens: TOKENS })
  const from = (number: number) => newBlockFromNode({ node, tokens: TOKENS }, basis, number)
  const block = await from(100)
  assert.deepEqual([block!.number, block!.time], [100, momentOf(300_000)])
  assert.deepEqual(block!.freezes, [[USDT, C, true]])
  assert.equal(countTransfers(block!.transfers), 2)
  assert.equal(await from(101), undefined)
})

test('an index numbers its transfers from the first of its first block on', async (t) => {
  const { sql } = await world(t)
  const moves = [moved(1n), moved(2n), moved(3n)]
  const basis = { assets: new Map([['TRX', (await readAssets(sql))[0]!]]), supplies: new Map() }
  assert.equal(await baseOf(sql, 100), 0n, 'no block')
  const step = recordStep({ sql, node: madeNode([]), tokens: new Set() })
  await step.reads.prepare!()
  await sql.begin((tx) => step.reads.work(tx, [stored(100, { moves }), stored(101, { moves })]))
  assert.equal(await baseOf(sql, 100), 0n)
  assert.equal(await baseOf(sql, 101), 3n)
  await sql.begin((tx) => recordEarlier(tx, [stored(99, { moves: moves.slice(1) })], basis))
  assert.deepEqual([await baseOf(sql, 99), await baseOf(sql, 100)], [-2n, 0n])
})
