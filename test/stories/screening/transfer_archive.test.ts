// Transfers of older blocks in ClickHouse: two servers, as operators set them up. The log is read
// as before; nothing is lost or counted twice, whatever crashes in between.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  type ArchiveSizes,
  archiveId,
  archiveState,
  archiveStep,
  beginArchive,
  checkArchive,
  endArchive,
} from 'penstock-service/chain/transfers/archiving.ts'
import { addressOfBare } from 'penstock-service/chain/transfers/bare_addresses.ts'
import { clickHouseArchive } from 'penstock-service/chain/transfers/clickhouse_archive.ts'
import {
  countTransfers,
  packTransfers,
  transferAt,
} from 'penstock-service/chain/transfers/packed.ts'
import { transferLog } from 'penstock-service/chain/transfers/postgres_log.ts'
import type {
  Counterparty,
  TransferArchive,
} from 'penstock-service/chain/transfers/transfer_archive.ts'
import { Outage } from 'penstock-service/lib/fault.ts'
import { counterpartiesOf } from 'penstock-service/screening/cases/counterparties.ts'
import { replayCheck, stateAt } from 'penstock-service/screening/checks/replay.ts'
import { freshClickHouse } from '../../harness/clickhouse.ts'
import { NO_CLICKHOUSE, type OwnClickHouse } from '../../harness/clickhouse_servers.ts'
import { eventually } from '../../harness/eventually.ts'
import { quietOperator, worldOperator } from '../../harness/operator.ts'
import {
  makeScreeningWorld,
  type Person,
  type ScreeningWorld,
  TRX,
} from '../../harness/screening_world.ts'

const SIZES: ArchiveSizes = { portion: 7, stay: 10 }
const GRACE_MS = 21 * 60_000
const WHOLE_PAGE = { after: undefined, limit: 1_000 }

type ArchiveScene = {
  world: ScreeningWorld
  people: Person[]
  clickhouse: OwnClickHouse
  archive: TransferArchive
}

/** A world in which much has moved, with an archive in which nothing is yet. */
async function archived(t: TestContext, options = {}): Promise<ArchiveScene> {
  const clickhouse = await freshClickHouse(t, { spread: true, ...options })
  const archive = clickHouseArchive(clickhouse)
  const world = await makeScreeningWorld(t, { archive })
  const people = Array.from({ length: 9 }, () => world.person())
  await world.publish('operator', [{ address: people[0]!.address, category: 'mixer' }])
  for (let round = 0; round < 3; round++) await moveAround(world, people)
  return { world, people, clickhouse, archive }
}

async function moveAround(world: ScreeningWorld, people: readonly Person[]): Promise<void> {
  for (const [i, from] of people.entries()) {
    const to = people[(i * 5 + 2) % people.length]!
    if (to === from) continue
    world.send(from, to, BigInt(i + 2) * TRX)
    world.sendToken(from, to, BigInt(1_000_000 + i))
  }
  await world.settle()
}

/** Returns the state before. */
async function begin({ world, archive }: Pick<ArchiveScene, 'world' | 'archive'>) {
  await archive.prepare(await archiveId(world.sql))
  return world.sql.begin((tx) => beginArchive(tx, { at: world.clock.now(), by: 'me' }))
}

async function runAll(world: ScreeningWorld, archive: TransferArchive): Promise<void> {
  const step = archiveStep({ sql: world.sql, clock: world.clock, archive }, SIZES)
  while (await step.run());
}

/** Copies what is old enough, and releases it when its time has come. */
async function moveAll({ world, archive }: ArchiveScene): Promise<void> {
  await runAll(world, archive)
  world.now_ms += GRACE_MS
  await runAll(world, archive)
}

/** How many blocks with transfers the database has whole, and how many it has not. */
async function counts({ sql }: ScreeningWorld): Promise<{ here: number; there: number }> {
  const [row] = await sql<{ here: number; there: number }>`
    select count(*) filter (where octet_length(transfers) > 0)::integer as here,
      count(*) filter (where transfers is null)::integer as there
    from flow_block`
  return row!
}

/** By the log itself, as it is read. */
async function counterpartiesByLog(
  { world, archive }: ArchiveScene,
  of: Person,
): Promise<Map<string, Pick<Counterparty, 'received' | 'sent' | 'transfers'>>> {
  const { last_number } = (await archiveState(world.sql))!
  const log = transferLog(world.sql, archive)
  const blocks = await log.after(-1, { limit: 10_000, until: Number(last_number), base: 0n })
  const found = new Map<string, Pick<Counterparty, 'received' | 'sent' | 'transfers'>>()
  for (const { transfers } of blocks) {
    for (let i = 0; i < countTransfers(transfers); i++) {
      const { asset, from, to, amount } = transferAt(transfers, i)
      const [sender, receiver] = [addressOfBare(from), addressOfBare(to)]
      if (sender !== of.address && receiver !== of.address) continue
      const key = `${sender === of.address ? receiver : sender} ${asset}`
      const sums = found.get(key) ?? { received: 0n, sent: 0n, transfers: 0n }
      if (sender === of.address) sums.sent += amount
      else sums.received += amount
      sums.transfers += 1n
      found.set(key, sums)
    }
  }
  return found
}

const byKey = (page: readonly Counterparty[]) =>
  new Map(
    page.map(({ other, asset, received, sent, transfers }) => [
      `${other} ${asset}`,
      { received, sent, transfers },
    ]),
  )

test('with its transfers in ClickHouse the log is read as before', {
  skip: NO_CLICKHOUSE,
}, async (t) => {
  const given = await archived(t)
  const { world, people, clickhouse, archive } = given
  const customer_id = await world.customer()
  const before = await world.ask({ customer_id, address: people[3]!.address })
  const state = await stateAt(world, undefined)
  assert.equal(await begin(given), 'ended')
  assert.equal(await begin(given), 'begun', 'it is begun once')
  await runAll(world, archive)
  assert.equal((await counts(world)).there, 0, 'what was just copied stays here, too')
  await moveAll(given)
  const moved = await counts(world)
  assert.ok(moved.there > 20 && moved.here > 0, 'older blocks are there, the newest are here')
  for (const shard of clickhouse.shards)
    assert.ok(
      Number(await shard.run('select count() from transfer_by_address')) > 0,
      'each shard has a part',
    )
  assert.deepEqual(await stateAt(world, undefined), state)
  assert.ok((await replayCheck(world, before.id)).same)
  // A process that starts now computes all of it from the log.
  const { sql } = world
  await sql`delete from flow_checkpoint_part`
  await sql`delete from flow_checkpoint`
  const late = world.startProcess()
  await world.drain(late)
  const after = await world.ask({ customer_id, address: people[3]!.address }, late)
  assert.deepEqual(after.risk_factors, before.risk_factors)
  for (const one of people) {
    const known = await counterpartiesOf(world, one.address, WHOLE_PAGE)
    assert.deepEqual(byKey(known!.page), await counterpartiesByLog(given, one))
  }
})

test('a move that breaks off at any call loses nothing and counts nothing twice', {
  skip: NO_CLICKHOUSE,
}, async (t) => {
  const given = await archived(t)
  const { world, people, archive } = given
  await begin(given)
  const state = await stateAt(world, undefined)
  /** Does what is asked, and breaks at the given call, before it or after it. */
  const breaking = (at: number, when: 'before' | 'after'): TransferArchive => {
    let calls = 0
    const broken = async <T>(work: () => Promise<T>): Promise<T> => {
      calls += 1
      if (calls === at && when === 'before') throw new Outage('broken off')
      const done = await work()
      if (calls === at) throw new Outage('broken off')
      return done
    }
    return {
      ...archive,
      put: (blocks) => broken(() => archive.put(blocks)),
      contents: (numbers) => broken(() => archive.contents(numbers)),
      hasSomeLegs: (block) => broken(() => archive.hasSomeLegs(block)),
    }
  }
  let broken = 0
  for (let at = 1; at <= 12; at++) {
    for (const when of ['before', 'after'] as const) {
      await runAll(world, breaking(at, when)).catch((thrown) => {
        if (!(thrown instanceof Outage)) throw thrown
        broken += 1
      })
      if (at % 3 === 0) world.now_ms += GRACE_MS
    }
  }
  assert.ok(broken > 10)
  await moveAll(given)
  assert.deepEqual(await stateAt(world, undefined), state)
  for (const one of people) {
    const known = await counterpartiesOf(world, one.address, WHOLE_PAGE)
    assert.deepEqual(byKey(known!.page), await counterpartiesByLog(given, one))
  }
})

test('what ClickHouse has lost before it was released is put there again', {
  skip: NO_CLICKHOUSE,
}, async (t) => {
  for (const table of ['transfer_by_block', 'transfer_by_address']) {
    const given = await archived(t)
    const { world, clickhouse, archive } = given
    await begin(given)
    await runAll(world, archive)
    for (const shard of clickhouse.shards) {
      await shard.run(`create table empty as ${table}`)
      await shard.run(`drop table ${table}`)
      await shard.run(`rename table empty to ${table}`)
    }
    world.now_ms += GRACE_MS
    await runAll(world, archive)
    assert.equal((await counts(world)).there, 0, 'nothing is released that is not there')
    await moveAll(given)
    assert.ok((await counts(world)).there > 20)
  }
})

test('a block whose transfers in ClickHouse differ from its hash is refused', {
  skip: NO_CLICKHOUSE,
}, async (t) => {
  const given = await archived(t)
  const { world, clickhouse, archive } = given
  await begin(given)
  await moveAll(given)
  const log = transferLog(world.sql, archive)
  const [first] = await log
    .after(-1, { limit: 1_000, base: 0n })
    .then((blocks) => blocks.filter(({ transfers }) => transfers.length > 0))
  // The same transfer with another amount, which is newer.
  await clickhouse.run(
    `insert into transfer_by_block select number, place, asset, sender, receiver, amount + 1, tx_id
     from transfer_by_block where number = ${first!.number}`,
  )
  for (const shard of clickhouse.shards) await shard.run('optimize table transfer_by_block final')
  const read = log.after(first!.number - 1, { limit: 1, base: 0n })
  await assert.rejects(read, /does not have the transfers of block \d+ as they were/)
  const unnamed = transferLog(world.sql).after(-1, { limit: 1_000, base: 0n })
  await assert.rejects(unnamed, /PENSTOCK_CLICKHOUSE_URL/)
})

test('what was moved comes back, and ClickHouse is not needed any more', {
  skip: NO_CLICKHOUSE,
}, async (t) => {
  const given = await archived(t)
  const { world, people, archive } = given
  const state = await stateAt(world, undefined)
  const before = await counts(world)
  assert.equal(await world.sql.begin(endArchive), false, 'nothing was begun')
  await begin(given)
  await moveAll(given)
  assert.equal(await world.sql.begin(endArchive), true)
  assert.equal(await world.sql.begin(endArchive), false)
  await runAll(world, archive)
  assert.equal(await archiveState(world.sql), undefined)
  assert.deepEqual(await counts(world), before)
  assert.deepEqual(await stateAt({ sql: world.sql }, undefined), state)
  assert.equal(await counterpartiesOf(world, people[1]!.address, WHOLE_PAGE), undefined)
  await begin(given)
  await moveAll(given)
  assert.ok((await counts(world)).there > 20, 'and it goes there again')
})

test('an archive that is ending can be begun again', {
  skip: NO_CLICKHOUSE,
}, async (t) => {
  const given = await archived(t)
  const { world } = given
  await begin(given)
  await moveAll(given)
  const id = await archiveId(world.sql)
  await world.sql.begin(endArchive)
  assert.equal(await begin(given), 'ending')
  await moveAll(given)
  const again = (await archiveState(world.sql))!
  assert.equal(await archiveId(world.sql), id)
  assert.ok(again.state === 'begun' && (await counts(world)).there > 20)
})

test('older blocks that come later are copied, too', { skip: NO_CLICKHOUSE }, async (t) => {
  const given = await archived(t)
  const { world, archive } = given
  await begin(given)
  await moveAll(given)
  const log = transferLog(world.sql)
  const first = (await log.first())!
  const [from, to] = [Buffer.alloc(20, 1), Buffer.alloc(20, 2)]
  const earlier = Array.from({ length: 7 }, (_, i) => ({
    number: first.number - 7 + i,
    id: `earlier ${i}`,
    time: new Date(first.time.getTime() - 3_000 * (7 - i)),
    freezes: [],
    transfers: packTransfers([{ asset: 0, from, to, amount: BigInt(i + 1) }]),
    tx_ids: Buffer.alloc(32, i),
  }))
  await world.sql.begin((tx) => transferLog(tx).prepend(earlier))
  await moveAll(given)
  assert.equal((await archiveState(world.sql))!.first_number, BigInt(first.number - 7))
  const known = await counterpartiesOf(world, addressOfBare(to), WHOLE_PAGE)
  assert.deepEqual(
    known!.page.map(({ received, transfers }) => [received, transfers]),
    [[28n, 7n]],
  )
  const read = await transferLog(world.sql, archive).at([first.number - 1], {
    carried: [],
    base: 0n,
  })
  assert.deepEqual(Buffer.from(read[0]!.transfers), Buffer.from(earlier[6]!.transfers))
})

test('tables of another log are not written to', { skip: NO_CLICKHOUSE }, async (t) => {
  const clickhouse = await freshClickHouse(t)
  const archive = clickHouseArchive(clickhouse)
  await archive.prepare('one')
  await archive.prepare('one')
  await assert.rejects(archive.prepare('other'), /belong to another log/)
  await archive.verify('one')
  await assert.rejects(archive.verify('other'), /not those of this log/)
  const unclaimed = clickHouseArchive(await freshClickHouse(t))
  await assert.rejects(unclaimed.verify('one'), Outage, 'who only reads and copies claims nothing')
})

test('sums above 64 bits are exact', { skip: NO_CLICKHOUSE }, async (t) => {
  const archive = clickHouseArchive(await freshClickHouse(t))
  await archive.prepare('sums')
  const [from, to] = [Buffer.alloc(20, 1), Buffer.alloc(20, 2)]
  const amount = 2n ** 64n - 1n
  const transfers = packTransfers(Array.from({ length: 9 }, () => ({ asset: 1, from, to, amount })))
  await archive.put([{ number: 5, transfers, tx_ids: new Uint8Array(9 * 32) }])
  const range = { first: 0, last: 10 }
  const [one] = await archive.counterparties(addressOfBare(from), range, WHOLE_PAGE)
  assert.equal(one!.sent, 9n * amount)
  assert.equal(one!.received, 0n)
})

test('counterparties of an address with many transfers come page by page, each once', {
  skip: NO_CLICKHOUSE,
}, async (t) => {
  const clickhouse = await freshClickHouse(t)
  const archive = clickHouseArchive(clickhouse, { legs_read_max: 3_000 })
  await archive.prepare('hub')
  const hub = Buffer.alloc(20, 7)
  const others = Array.from({ length: 40_000 }, (_, i) => {
    const other = Buffer.alloc(20, i % 251)
    other.writeUInt32BE(Math.imul(i, 2_654_435_761) >>> 0, 0)
    return other
  })
  for (let from = 0; from < others.length; from += 10_000) {
    const transfers = packTransfers(
      others.slice(from, from + 10_000).map((other) => ({
        asset: 0,
        from: hub,
        to: other,
        amount: 3n,
      })),
    )
    const tx_ids = new Uint8Array(10_000 * 32)
    await archive.put([{ number: from, transfers, tx_ids }])
  }
  const seen: string[] = []
  const range = { first: 0, last: 40_000 }
  for (let after: Counterparty | undefined; ; ) {
    const page = await archive.counterparties(addressOfBare(hub), range, { after, limit: 999 })
    seen.push(...page.map(({ other }) => other))
    after = page.at(-1)
    if (!after) break
  }
  const sorted = others.toSorted(Buffer.compare).map((other) => addressOfBare(other))
  assert.deepEqual(seen, sorted)
})

test('blocks that ClickHouse has lost are read again from the chain', {
  skip: NO_CLICKHOUSE,
}, async (t) => {
  const given = await archived(t)
  const { world, clickhouse } = given
  await begin(given)
  await moveAll(given)
  const { sql, scene } = world
  const operator = await worldOperator({
    sql,
    scene,
    get now() {
      return world.clock.now()
    },
  })
  operator.io.env.PENSTOCK_CLICKHOUSE_URL = urlOf(clickhouse)
  const [first, second, third] = await sql<{ number: bigint }>`
    select f.number from flow_block as f
    where contents_sha256 is not null and exists (
      select from flow_block as n where n.number = f.number + 1
        and n.first_sequence > f.first_sequence) order by f.number limit 3`
  for (const shard of clickhouse.shards) {
    for (const [table, { number }] of [
      ['transfer_by_block', first!],
      ['transfer_by_address', second!],
    ] as const)
      await shard.run(`alter table ${table} delete where number = ${number}`)
  }
  await eventually('rows of two blocks are gone', async () => {
    const left = await clickhouse.run(
      `select (select count() from transfer_by_block where number = ${first!.number})
         + (select count() from transfer_by_address where number = ${second!.number})`,
    )
    return left.toString() === '0\n'
  })
  // And one of which the log says what the chain does not.
  const [{ contents_sha256: hash } = { contents_sha256: Buffer.alloc(0) }] = await sql<{
    contents_sha256: Buffer
  }>`select contents_sha256 from flow_block where number = ${third!.number}`
  await sql`
    update flow_block set contents_sha256 = ${Buffer.alloc(32)} where number = ${third!.number}`
  const alone = await operator.type('archive', 'mend')
  assert.match(alone.err, /--node-url is missing/)
  const mend = ['archive', 'mend', '--node-url', 'https://devchain', '--json']
  const mended = await operator.type(...mend)
  assert.notEqual(mended.out, '', mended.err)
  const { blocks: _, ...found } = JSON.parse(mended.out)
  assert.deepEqual(found, {
    mended: 2,
    broken: 1,
    first_broken: [{ block: Number(third!.number) }],
  })
  assert.equal(mended.code, 1)
  await sql`update flow_block set contents_sha256 = ${hash} where number = ${third!.number}`
  const again = await operator.type(...mend)
  assert.deepEqual([again.code, JSON.parse(again.out).broken], [0, 0])
  assert.equal((await operator.json<{ broken: number }>('archive', 'check')).broken, 0)
  const actions = await sql<{ after: { mended: number } }>`
    select after from operator_action where action = 'archive mend'`
  assert.equal(
    actions.reduce((sum, { after }) => sum + after.mended, 0),
    2,
    'what was mended is in the record',
  )
})

test('a table by address that is empty is filled again, and none but that of this log', {
  skip: NO_CLICKHOUSE,
}, async (t) => {
  const given = await archived(t)
  const { world, clickhouse, archive, people } = given
  await begin(given)
  for (let round = 0; round < 6; round++) await moveAround(world, people)
  // Portions of more blocks than are looked for by their addresses.
  const step = archiveStep({ ...world, archive }, { portion: 40, stay: 10 })
  for (const ms of [0, GRACE_MS]) {
    world.now_ms += ms
    while (await step.run());
  }
  assert.ok((await counts(world)).there > 32)
  for (const shard of clickhouse.shards) {
    await shard.run('create table empty as transfer_by_address')
    await shard.run('drop table transfer_by_address')
    await shard.run('rename table empty to transfer_by_address')
  }
  const mender = { read: async () => undefined, noteMended: async () => {} }
  const found = await checkArchive({ sql: world.sql, archive, mender }, () => {})
  assert.ok(found.mended > 0 && found.broken === 0)
  for (const one of people) {
    const known = await counterpartiesOf(world, one.address, WHOLE_PAGE)
    assert.deepEqual(byKey(known!.page), await counterpartiesByLog(given, one))
  }
  const other = clickHouseArchive(await freshClickHouse(t))
  await other.prepare('another log')
  const elsewhere = checkArchive({ sql: world.sql, archive: other, mender }, () => {})
  await assert.rejects(elsewhere, /not those of this log/)
})

const urlOf = ({ server }: OwnClickHouse): string => {
  const url = new URL(`${server.url}/${server.database}`)
  url.username = server.user
  url.password = encodeURIComponent(server.password)
  return url.toString()
}

test('an operator begins it, looks at it, has it checked and ends it', {
  skip: NO_CLICKHOUSE,
}, async (t) => {
  const operator = await quietOperator(t)
  const refused = await operator.type('archive', 'begin')
  assert.match(refused.err, /set PENSTOCK_CLICKHOUSE_URL/)
  const clickhouse = await freshClickHouse(t)
  operator.io.env.PENSTOCK_CLICKHOUSE_URL = urlOf(clickhouse)
  const transfers = packTransfers([
    { asset: 0, from: Buffer.alloc(20, 1), to: Buffer.alloc(20, 2), amount: 5n },
  ])
  const blocks = Array.from({ length: 40 }, (_, i) => ({
    number: 100 + i,
    id: `block ${i}`,
    time: new Date(3_000 * i),
    freezes: [],
    transfers,
    tx_ids: Buffer.alloc(32, i),
  }))
  await operator.sql.begin((tx) => transferLog(tx).append(blocks))
  assert.equal((await operator.json<{ state: string }>('archive', 'show')).state, 'ended')
  assert.equal((await operator.json<{ state: string }>('archive', 'begin')).state, 'begun')
  const { clock } = operator.io
  let later_ms = 0
  const later = { now: () => new Date(clock.now().getTime() + later_ms) }
  const needs = { sql: operator.sql, clock: later, archive: clickHouseArchive(clickhouse) }
  for (const ms of [0, GRACE_MS]) {
    later_ms = ms
    while (await archiveStep(needs, SIZES).run());
  }
  const shown = await operator.json<Record<string, unknown>>('archive', 'show')
  assert.deepEqual(
    [shown.first_block, shown.last_block, shown.transfers, shown.released_blocks],
    [100, 127, 28, 28],
  )
  const address = addressOfBare(Buffer.alloc(20, 2))
  const known = await operator.json<{ counterparties: { received: number }[] }>(
    'aml',
    'counterparties',
    address,
  )
  assert.deepEqual(
    known.counterparties.map(({ received }) => received),
    [140],
  )
  const checked = await operator.json<Record<string, unknown>>('archive', 'check')
  assert.deepEqual(checked, { blocks: 28, broken: 0, first_broken: [] })
  await clickhouse.run('alter table transfer_by_block delete where number = 110')
  await eventually('the row is gone', async () => {
    const rows = await clickhouse.run('select count() from transfer_by_block where number = 110')
    return rows.toString() === '0\n'
  })
  const { code, out } = await operator.type('archive', 'check', '--json')
  assert.equal(code, 1)
  assert.deepEqual(JSON.parse(out).first_broken, [{ block: 110 }])
  assert.equal((await operator.json<{ state: string }>('archive', 'end')).state, 'ending')
  assert.equal((await operator.json<{ state: string }>('archive', 'end')).state, 'ending')
})
