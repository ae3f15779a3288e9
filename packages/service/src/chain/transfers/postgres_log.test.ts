import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { MemoryArchive } from 'penstock-test/harness/memory_archive.ts'
import { Dice } from 'penstock-test/simulator/dice.ts'
import type { Address } from 'penstock-tron/address.ts'
import { Outage } from '../../lib/fault.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { addressOfBare, bareHex } from './bare_addresses.ts'
import { countTransfers, packTransfers } from './packed.ts'
import { emptyBlocks, refillBlocks, releasedBlocks, transferLog } from './postgres_log.ts'
import { contentsSha256 } from './transfer_archive.ts'
import type { FreezeWord, NewBlock } from './transfer_log.ts'

const party = (n: number) => Buffer.alloc(20, n)
const [ADDRESS, OTHER] = [addressOfBare(party(171)), addressOfBare(party(205))]
const TOKENS = [addressOfBare(party(1)), addressOfBare(party(2))]

function drawnBlock(number: number, dice: Dice): NewBlock {
  const count = dice.pick([0, 0, 1, 2, 5])
  const freezes = Array.from(
    { length: dice.pick([0, 0, 1, 3]) },
    (): FreezeWord => [dice.pick(TOKENS), dice.pick([ADDRESS, OTHER]), dice.chance(0.5)],
  )
  return {
    number,
    id: `block ${number}`,
    time: new Date(number * 3_000),
    freezes,
    transfers: packTransfers(
      Array.from({ length: count }, (_, i) => ({
        asset: i,
        from: party(dice.between(0, 255)),
        to: party(dice.between(0, 255)),
        amount: BigInt(dice.between(1, 1_000_000)),
      })),
    ),
    tx_ids: Buffer.alloc(32 * count, number % 256),
  }
}

/** A block of the log as it should be read. `from` and `until`: the numbers of its first transfer,
 *  and of the one after its last. */
type Known = NewBlock & { from: number; until: number }

/** A log that was written at both ends, with blocks whose transfers lie in the archive, and with
 *  what its transfers carried in two generations. */
type LogScene = {
  sql: Sql
  archive: MemoryArchive
  known: Known[]
  carried: Map<string, Buffer>
  generations: number[]
}

async function logScene(t: TestContext, dice: Dice): Promise<LogScene> {
  const { sql } = await freshDatabase(t)
  const archive = new MemoryArchive()
  const blocks = Array.from({ length: 60 }, (_, i) => drawnBlock(200 + i, dice))
  await sql.begin((tx) => transferLog(tx).append(blocks.slice(20, 40)))
  await sql.begin((tx) => transferLog(tx).append(blocks.slice(40)))
  await sql.begin((tx) => transferLog(tx).prepend(blocks.slice(5, 20)))
  await sql.begin((tx) => transferLog(tx).prepend(blocks.slice(0, 5)))
  const before = blocks.slice(0, 20).reduce((sum, one) => sum + countTransfers(one.transfers), 0)
  let sequence = 1 - before
  const known = blocks.map((block) => {
    const from = sequence
    sequence += countTransfers(block.transfers)
    return { ...block, from, until: sequence }
  })
  const moved = blocks.slice(0, 30).filter(() => dice.chance(0.5))
  await archive.put(moved)
  const hashes = moved.map((block) => ({
    number: BigInt(block.number),
    contents_sha256: contentsSha256(block),
  }))
  await sql.begin((tx) => emptyBlocks(tx, hashes))
  const generations: number[] = []
  for (const reach of [0, 1]) {
    const [row] = await sql<{ number: number }>`
      insert into flow_generation (label_set, begun_at, reach, first_number, rules)
      values ((select max(number) from label_set), now(), ${reach}, 200, 1) returning number`
    generations.push(row!.number)
  }
  const carried = new Map<string, Buffer>()
  for (const generation of generations)
    for (const { number, transfers } of blocks) {
      if (transfers.length === 0 || dice.chance(0.1)) continue
      const bytes = Buffer.from(`${generation} at ${number}`)
      carried.set(`${generation} ${number}`, bytes)
      await sql`
        insert into flow_carried (generation, number, carried)
        values (${generation}, ${number}, ${bytes})`
    }
  return { sql, archive, known, carried, generations }
}

const recorded = ({ number, id, time, freezes, from, transfers, tx_ids }: Known, base: bigint) => ({
  id,
  transfers: Buffer.from(transfers),
  tx_ids: Buffer.from(tx_ids),
  freezes: freezes.map(([token, address, frozen]) => ({
    token,
    address: bareHex(address as Address),
    frozen,
  })),
  number,
  time_ms: time.getTime(),
  first_sequence: from - Number(base),
})

const asRead = <Block extends { transfers: Uint8Array; tx_ids: Uint8Array }>(blocks: Block[]) =>
  blocks.map((one) => ({
    ...one,
    transfers: Buffer.from(one.transfers),
    tx_ids: Buffer.from(one.tx_ids),
  }))

const hasTransfers = ({ from, until }: Known) => until > from

test('the log is read as it was written, wherever its transfers lie', async (t) => {
  const dice = new Dice('read')
  const { sql, archive, known } = await logScene(t, dice)
  const log = transferLog(sql, archive)
  const place = ({ number, id, time, from }: Known) => ({
    number,
    id,
    time,
    first_sequence: BigInt(from),
  })
  assert.deepEqual(await log.first(), place(known[0]!))
  assert.deepEqual(await log.last(), place(known.at(-1)!))
  assert.deepEqual(await log.block(217), place(known[17]!))
  assert.deepEqual([await log.block(199), await log.block(260)], [undefined, undefined])
  for (let round = 0; round < 60; round++) {
    const number = dice.between(195, 262)
    const bound = dice.between(195, 262)
    const limit = dice.between(1, 70)
    const base = BigInt(dice.between(-50, 50))
    const after = await log.after(number, { limit, until: bound, base })
    const above = known.filter((one) => one.number > number && one.number <= bound)
    assert.deepEqual(
      asRead(after),
      above.slice(0, limit).map((one) => recorded(one, base)),
    )
    const before = await log.before(number, { limit, from: bound, base })
    const below = known.filter((one) => one.number < number && one.number >= bound).reverse()
    assert.deepEqual(
      asRead(before),
      below.slice(0, limit).map((one) => recorded(one, base)),
    )
  }
  assert.equal((await log.after(-1, { limit: 100, base: 0n })).length, 60)
  assert.ok((await log.bytes()) > 0n)
})

test('blocks are found by their transfers, with what these carried, once each', async (t) => {
  const dice = new Dice('carried')
  const scene = await logScene(t, dice)
  const { sql, archive, known, generations } = scene
  const log = transferLog(sql, archive)
  const full = known.filter(hasTransfers)
  for (let round = 0; round < 60; round++) {
    const base = BigInt(dice.between(-50, 50))
    // Of the first to a block, and of the other beyond: that of the first that reaches there.
    const ranges = generations.map((generation) => ({
      generation,
      until: BigInt(dice.between(195, 262)),
    }))
    const carried = dice.chance(0.2) ? [] : dice.chance(0.5) ? ranges.slice(0, 1) : ranges
    const values = ({ number }: Known) =>
      carried
        .filter(({ until }) => number <= until)
        .flatMap(({ generation }) => scene.carried.get(`${generation} ${number}`) ?? [])
        .map(String)
    const wanted = new Set(Array.from({ length: dice.between(1, 9) }, () => dice.pick(full)))
    const sequences = [...wanted].map((one) => dice.between(one.from, one.until - 1) - Number(base))
    const found = await log.ofTransfers(sequences, { carried, base })
    const expected = [...wanted].sort((a, b) => a.number - b.number)
    assert.deepEqual(
      asRead(found).map(({ carried: _, ...block }) => block),
      expected.map((one) => recorded(one, base)),
    )
    const numbers = Array.from({ length: 9 }, () => dice.between(195, 262))
    const at = await log.at(numbers, { carried, base })
    const there = known.filter(({ number }) => numbers.includes(number))
    assert.deepEqual(
      asRead(at).map(({ carried: _, ...block }) => block),
      there.map((one) => recorded(one, base)),
    )
    for (const [i, block] of [...found, ...at].entries()) {
      const possible = values([...expected, ...there][i]!)
      if (possible.length === 0) assert.equal(block.carried, undefined)
      else assert.ok(possible.includes(String(Buffer.from(block.carried!))))
    }
    const [first, last] = [dice.between(200, 259), dice.between(200, 259)].sort((a, b) => a - b)
    const within = full.filter((one) => one.number >= first! && one.number <= last!)
    assert.equal(
      await log.isNoted(carried, { first: first!, last: last! }),
      within.every((one) => values(one).length > 0),
    )
  }
})

test('what lies between two blocks is counted, and what of a freeze was said last', async (t) => {
  const dice = new Dice('words')
  const { sql, known } = await logScene(t, dice)
  const log = transferLog(sql)
  let words = 0
  for (let round = 0; round < 60; round++) {
    const [first, last] = [dice.between(195, 262), dice.between(195, 262)].sort((a, b) => a - b)
    const begins = known.find(({ number }) => number >= first!)
    const ends = known.findLast(({ number }) => number <= last!)
    assert.equal(
      await log.between(first!, last!),
      begins && ends ? BigInt(ends.from - begins.from) : 0n,
    )
    const said = new Map<string, { token: string; frozen: boolean; block: bigint }>()
    for (const { number, freezes } of known)
      for (const [token, address, frozen] of freezes)
        if (number >= first! && number <= last! && address === ADDRESS)
          said.set(token, { token, frozen, block: BigInt(number) })
    const found = await log.freezeWords(ADDRESS, { first: BigInt(first!), last: BigInt(last!) })
    assert.deepEqual(
      found,
      TOKENS.flatMap((token) => said.get(token) ?? []),
    )
    words += found.length
  }
  assert.ok(words > 20)
})

test('only blocks with transfers are emptied, and only those that are come back', async (t) => {
  const dice = new Dice('moved')
  const { sql, archive, known } = await logScene(t, dice)
  const all = known.map((block) => ({
    number: BigInt(block.number),
    contents_sha256: contentsSha256(block),
  }))
  await archive.put(known)
  await sql.begin((tx) => emptyBlocks(tx, all))
  const range = { first: 205n, last: 250n }
  const released = await releasedBlocks(sql, range)
  const full = known.filter((one) => hasTransfers(one) && one.number >= 205 && one.number <= 250)
  assert.deepEqual(
    released,
    full.map((one) => ({ number: BigInt(one.number), contents_sha256: contentsSha256(one) })),
  )
  const log = transferLog(sql, archive)
  const [one] = full
  archive.blocks.set(one!.number, { ...one!, tx_ids: Buffer.alloc(one!.tx_ids.length, 9) })
  const read = () => log.at([one!.number], { carried: [], base: 0n })
  await assert.rejects(
    read,
    (thrown) => thrown instanceof Outage && /as they were/.test(`${thrown}`),
  )
  archive.blocks.delete(one!.number)
  await assert.rejects(read, Outage)
  await assert.rejects(
    transferLog(sql).at([one!.number], { carried: [], base: 0n }),
    /PENSTOCK_CLICKHOUSE_URL/,
  )
  await sql.begin((tx) => refillBlocks(tx, full))
  assert.deepEqual(await releasedBlocks(sql, range), [])
  // What is here is not overwritten.
  const wrong = known.map((block) => ({ ...block, tx_ids: Buffer.alloc(block.tx_ids.length, 8) }))
  await sql.begin((tx) => refillBlocks(tx, wrong.slice(5, 51)))
  const here = transferLog(sql)
  const inside = await here.after(204, { limit: 100, until: 250, base: 0n })
  assert.deepEqual(
    asRead(inside),
    known.slice(5, 51).map((block) => recorded(block, 0n)),
  )
})

test('a block is noted up to the end of its generation, wherever its transfers lie', async (t) => {
  const { sql } = await freshDatabase(t)
  const transfer = { asset: 1, from: party(1), to: party(2), amount: 1n }
  const transfers = packTransfers([transfer])
  const blocks = [200, 201].map((number): NewBlock => {
    const time = new Date(number * 3_000)
    return { number, id: `block ${number}`, time, freezes: [], transfers, tx_ids: Buffer.alloc(32) }
  })
  await sql.begin((tx) => transferLog(tx).append(blocks))
  const [row] = await sql<{ number: number }>`
    insert into flow_generation (label_set, begun_at, reach, first_number, rules)
    values ((select max(number) from label_set), now(), 0, 200, 1) returning number`
  const generation = row!.number
  await sql`insert into flow_carried (generation, number, carried) values (${generation}, 200, '')`
  const isNoted = (number: number, until: bigint) =>
    transferLog(sql).isNoted([{ generation, until }], { first: number, last: number })
  const noted = () => Promise.all([isNoted(200, 200n), isNoted(200, 199n), isNoted(201, 300n)])
  assert.deepEqual(await noted(), [true, false, false])
  const hashes = blocks.map((block) => ({
    number: BigInt(block.number),
    contents_sha256: contentsSha256(block),
  }))
  await sql.begin((tx) => emptyBlocks(tx, hashes))
  assert.deepEqual(await noted(), [true, false, false])
})
