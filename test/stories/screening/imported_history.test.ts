// History from files: what one service has followed, written as others export it, is brought into
// another that began later. Nothing odd gets in.

import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { addressOfBare } from 'penstock-service/chain/transfers/bare_addresses.ts'
import { countTransfers, transferAt } from 'penstock-service/chain/transfers/packed.ts'
import { transferLog } from 'penstock-service/chain/transfers/postgres_log.ts'
import {
  counterpartiesOf,
  forgetPairs,
  keepPairs,
  pairStep,
} from 'penstock-service/screening/cases/counterparties.ts'
import { replayCheck } from 'penstock-service/screening/checks/replay.ts'
import { stateHash } from 'penstock-service/screening/flow/checkpoint.ts'
import { importLog } from 'penstock-service/screening/tracing/import_log.ts'
import { makeScreeningWorld, type ScreeningWorld, USDT } from '../../harness/screening_world.ts'

type Row = Record<string, string | bigint | Date>

const random = { bytes: (length: number) => new Uint8Array(length) }

/** The log of a service as rows, up to below a block. */
async function rowsOf(world: ScreeningWorld, below: number): Promise<Row[]> {
  const log = transferLog(world.sql)
  const from = (await log.first())!.number
  const blocks = await log.after(from - 1, { limit: 10_000, until: below - 1, base: 0n })
  const assets = ['TRX', USDT]
  return blocks.flatMap((block): Row[] => {
    const of = { block: BigInt(block.number), block_id: block.id, time: new Date(block.time_ms) }
    const none = { ...of, tx: '', index: '', event: '', asset: '', from: '', to: '', amount: '' }
    const transfers = Array.from({ length: countTransfers(block.transfers) }, (_, i) => {
      const { asset, from, to, amount } = transferAt(block.transfers, i)
      const tx = Buffer.from(block.tx_ids.subarray(32 * i, 32 * i + 32)).toString('hex')
      return {
        ...of,
        tx,
        index: String(i),
        event: 'transfer',
        asset: assets[asset]!,
        from: addressOfBare(from),
        to: addressOfBare(to),
        amount: String(amount),
      }
    })
    const freezes = block.freezes.map(({ token, address, frozen }, i) => ({
      ...none,
      index: String(1_000 + i),
      event: frozen ? 'freeze' : 'unfreeze',
      asset: token,
      to: addressOfBare(Buffer.from(address, 'hex')),
    }))
    const all = [...transfers, ...freezes]
    return all.length > 0 ? all : [none]
  })
}

const said = (value: Row[string]) => (value instanceof Date ? value.toISOString() : String(value))

const csvOf = (rows: readonly Row[]) =>
  [
    Object.keys(rows[0]!).join(','),
    ...rows.map((row) => Object.values(row).map(said).join(',')),
    '',
  ].join('\n')

const linesOf = (rows: readonly Row[]) =>
  `${rows
    .map((row) =>
      JSON.stringify(Object.fromEntries(Object.entries(row).map(([k, v]) => [k, said(v)]))),
    )
    .join('\n')}\n`

const parquetOf = (rows: readonly Row[]) =>
  Buffer.from(
    parquetWriteBuffer({
      columnData: Object.keys(rows[0]!).map((name) => ({
        name,
        data: rows.map((row) => row[name]),
        type: name === 'block' ? 'INT64' : name === 'time' ? 'TIMESTAMP' : 'STRING',
      })),
    }),
  )

async function history(t: TestContext) {
  const world = await makeScreeningWorld(t)
  const people = Array.from({ length: 6 }, () => world.person())
  await world.publish('operator', [{ address: people[0]!.address, category: 'mixer' }])
  for (let i = 0; i < 30; i++) world.send(people[i % 6]!, people[(i + 1) % 6]!, 2_000_003n)
  for (let i = 0; i < 6; i++) world.sendToken(people[i]!, people[(i + 1) % 6]!, 4_000_000n)
  world.freeze(people[4]!, true)
  await world.settle()
  const late = await world.another()
  await late.publish('operator', [{ address: people[0]!.address, category: 'mixer' }])
  world.mine()
  late.now_ms = world.now_ms
  await late.settle()
  await world.drain()
  const folder = await mkdtemp(join(tmpdir(), 'history-'))
  t.after(() => rm(folder, { recursive: true }))
  const begins = (await transferLog(late.sql).first())!.number
  const rows = await rowsOf(world, begins)
  const middle = BigInt(begins - 40)
  const old = rows.filter((row) => (row.block as bigint) < middle)
  const recent = rows.filter((row) => (row.block as bigint) >= middle)
  const write = async (name: string, contents: string | Uint8Array) => {
    await writeFile(join(folder, name), contents)
    return join(folder, name)
  }
  const bring = (files: string[], more: { from_number?: number } = {}) =>
    importLog(
      { sql: late.sql, node: late.node, tokens: new Set([USDT]), random },
      {
        files,
        source: 'a friend',
        from_number: undefined,
        made_by: 'me',
        made_at: late.clock.now(),
        ...more,
      },
    )
  return { world, late, people, rows, old, recent, begins, write, bring }
}

const hashOf = ({ process }: ScreeningWorld) => stateHash(process.generations.current()!.index)

test('with history from files, the index is as if there from the start', async (t) => {
  const { world, late, people, old, recent, write, bring } = await history(t)
  const customer_id = await late.customer()
  const ask = () => late.ask({ customer_id, address: people[1]!.address })
  const before = await ask()
  assert.notEqual(hashOf(late), hashOf(world))
  const lowest = Number(old[0]!.block)
  // Only the newer half first: it is in the log, and not used, for more was asked for.
  const newer = await write('newer.parquet', parquetOf(recent))
  const half = await bring([newer], { from_number: lowest })
  assert.deepEqual([half.reach, half.first_number], [null, Number(recent[0]!.block)])
  await late.drain()
  assert.equal((await ask()).generation, before.generation)
  const older = await write('older.ndjson.gz', gzipSync(linesOf(old)))
  const whole = await bring([older, newer], { from_number: lowest })
  assert.deepEqual([whole.files, whole.known, whole.first_number], [2, 1, lowest])
  assert.ok(whole.reach !== null && whole.compared >= 2)
  await late.drain()
  assert.equal(hashOf(late), hashOf(world))
  const after = await ask()
  assert.ok(after.risk_factors.some(({ name }) => name === 'mixer'))
  for (const { id } of [before, after]) assert.ok((await replayCheck(late, id)).same)
  const index = (id: string) => late.evidence(id).then((facts) => facts.index)
  const [imported] = (await index(after.id)).imported as unknown as Record<string, string>[]
  assert.deepEqual(
    { ...imported, sha256: '' },
    {
      source: 'a friend',
      first_block: String(lowest),
      last_block: String(recent.at(-1)!.block),
      files: '2',
      sha256: '',
    },
  )
  assert.equal((await index(before.id)).imported, undefined)
  const [freeze] = await late.sql`select number from flow_freeze where frozen`
  assert.ok(freeze, 'freezes of the past are known')
  // Once more is nothing.
  const again = await bring([newer, older])
  assert.deepEqual([again.known, again.blocks, again.reach], [2, 0, null])
})

test('what is odd in a file is refused whole, with file and row', async (t) => {
  const { late, rows, old, recent, begins, write, bring } = await history(t)
  const middle = recent.length >> 1
  const moving = recent.findIndex((row) => row.asset === 'TRX')
  const with_one = (i: number, change: Row) =>
    recent.map((row, at) => (at === i ? { ...row, ...change } : row))
  const foreign = '0x742d35Cc6634C0532925a3b844Bc454e4438f44e'
  const token = recent.findIndex((row) => row.asset === USDT && row.event === 'transfer')
  const odd: [name: string, contents: string | Uint8Array, says: RegExp][] = [
    [
      'gap.csv',
      csvOf(recent.filter((_, i) => i !== middle)),
      /gap\.csv, row \d+: .*1 blocks are missing/,
    ],
    ['order.csv', csvOf([...recent].reverse()), /order\.csv, row 2: block \d+ comes after/],
    [
      'twice.csv',
      csvOf([...recent, recent.at(-2)!]),
      /twice\.csv, row \d+: .*stands once, and in order/,
    ],
    [
      'again.csv',
      csvOf([...recent.slice(0, moving + 1), recent[moving]!]),
      /again\.csv, row \d+: index 0 of block \d+ is not after 0/,
    ],
    [
      'much.csv',
      csvOf(with_one(token, { amount: '9'.repeat(25) })),
      /much\.csv, row \d+: 9+ of USDT moved, and there are \d+/,
    ],
    [
      'chain.csv',
      csvOf(with_one(moving, { from: foreign })),
      /chain\.csv, row \d+: its from 0x742d\w+ is no address of TRON/,
    ],
    [
      'id.csv',
      csvOf(with_one(middle, { block_id: 'ab'.repeat(32) })),
      /id\.csv, row \d+: (ab)+ is no id of block/,
    ],
    ['cut.csv', csvOf(recent).slice(0, -9), /cut\.csv, its last line does not end/],
    ['cut.ndjson', linesOf(recent).slice(0, -9), /cut\.ndjson, its last line does not end/],
    ['cut.parquet', parquetOf(recent).subarray(0, -9), /cut\.parquet, it cannot be read/],
    [
      'cut.ndjson.gz',
      gzipSync(linesOf(recent)).subarray(0, -99),
      /cut\.ndjson\.gz, it cannot be read/,
    ],
    [
      'float.ndjson',
      linesOf(recent).replace(/"amount":"2000003"/, '"amount":2000003.5'),
      /float\.ndjson, row \d+: its amount 2000003\.5 has lost digits/,
    ],
    ['names.csv', 'a,b\n1,2\n', /names\.csv, row 1: it has no column block or block_number/],
    ['far.csv', csvOf(old), /far\.csv, row \d+: its last block is \d+, and the log begins with/],
    ['file.txt', 'x', /file\.txt, its name ends with none of/],
    ['empty.csv', 'block,time\n', /empty\.csv has no row/],
    // The first block is always held against the node.
    [
      'lie.csv',
      csvOf(
        recent
          .filter((row) => (row.block as bigint) >= (recent[moving]!.block as bigint))
          .map((row) => (row.asset === 'TRX' ? { ...row, amount: '77' } : row)),
      ),
      /lie\.csv, row 1: block .* the node.s: transfer 1 is 77 TRX .* in the file, 2000003 TRX from/,
    ],
    [
      'hidden.csv',
      csvOf(
        rows
          .map((row) =>
            row.event === 'transfer' ? { ...row, tx: '', index: '', event: '', asset: '' } : row,
          )
          .filter((row, i, all) => row.block !== all[i - 1]?.block),
      ),
      /hidden\.csv, row \d+: block \d+ is not the node's: transfer 1 is none in the file/,
    ],
  ]
  const state = async () => [
    (await transferLog(late.sql).first())!.number,
    (await late.sql`select * from flow_import`).length,
    (await late.sql`select * from flow_reach`).length,
  ]
  const before = await state()
  for (const [name, contents, says] of odd) {
    const good = await write('old.csv', csvOf(old))
    const file = await write(name, contents)
    await assert.rejects(bring(name === 'far.csv' ? [file] : [good, file]), says, name)
    assert.deepEqual(await state(), before, name)
  }
  assert.equal(before[0], begins)
})

test('a run that was broken off between two files goes on with the second', async (t) => {
  const { world, late, old, recent, write, bring } = await history(t)
  const files = [await write('a.csv', csvOf(old)), await write('b.csv', csvOf(recent))]
  // The note of the older one, which is the second, cannot be written.
  await late.sql`alter table flow_import add constraint full_disk unique (source)`
  await assert.rejects(bring(files), /full_disk/)
  assert.equal((await transferLog(late.sql).first())!.number, Number(recent[0]!.block))
  await late.sql`alter table flow_import drop constraint full_disk`
  const { known, reach } = await bring(files)
  assert.deepEqual([known, reach !== null], [1, true])
  await late.drain()
  assert.equal(hashOf(late), hashOf(world))
})

test('who dealt with whom is known of what is followed and of what is brought', async (t) => {
  const { late, people, rows, recent, old, write, bring } = await history(t)
  const step = pairStep({ sql: late.sql })
  const read = async () => {
    while (await step.run());
  }
  await read()
  const whole_page = { after: undefined, limit: 100 }
  const one = people[1]!.address
  const unasked = await counterpartiesOf(late, one, whole_page)
  assert.equal(unasked, undefined, 'nothing is kept that nobody asked for')
  const asked = { at: late.clock.now(), by: 'me' }
  assert.equal(await late.sql.begin((tx) => keepPairs(tx, asked)), true)
  assert.equal(await late.sql.begin((tx) => keepPairs(tx, asked)), false)
  await read()
  await bring([await write('recent.csv', csvOf(recent))])
  await read()
  await bring([await write('old.csv', csvOf(old))])
  late.send(people[0]!, people[1]!, 5n)
  await late.settle()
  await read()
  const log = transferLog(late.sql)
  const [first, last] = [await log.first(), await log.last()]
  const { page: whole, ...range } = (await counterpartiesOf(late, one, whole_page))!
  assert.deepEqual(range, {
    first_number: BigInt(first!.number),
    last_number: BigInt(last!.number),
  })
  const moved = rows.filter((row) => row.event === 'transfer' && [row.from, row.to].includes(one))
  const sum = (trx: boolean, side: 'from' | 'to', other: string) =>
    moved
      .filter((row) => (row.asset === 'TRX') === trx)
      .filter((row) => row[side] === other && row[side === 'from' ? 'to' : 'from'] === one)
      .reduce((all, row) => all + BigInt(row.amount as string), 0n)
  assert.ok(whole.length >= 4)
  for (const { other, asset, received, sent } of whole) {
    const late_one = asset === 0 && other === people[0]!.address ? 5n : 0n
    assert.equal(received, sum(asset === 0, 'from', other) + late_one)
    assert.equal(sent, sum(asset === 0, 'to', other))
  }
  assert.equal(
    whole.reduce((all, { transfers }) => all + transfers, 0n),
    BigInt(moved.length + 1),
  )
  // Page by page it is the same.
  const paged = []
  for (let after: (typeof whole)[number] | undefined; ; ) {
    const [next] = (await counterpartiesOf(late, one, { after, limit: 1 }))!.page
    if (!next) break
    paged.push(next)
    after = next
  }
  assert.deepEqual(paged, whole)
  assert.equal(await late.sql.begin(forgetPairs), true)
  assert.equal(await counterpartiesOf(late, one, whole_page), undefined)
})
