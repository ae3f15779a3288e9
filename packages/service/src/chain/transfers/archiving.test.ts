import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { isDue } from 'penstock-test/harness/is_due.ts'
import { MemoryArchive } from 'penstock-test/harness/memory_archive.ts'
import { Dice } from 'penstock-test/simulator/dice.ts'
import { Outage } from '../../lib/fault.ts'
import type { Sql } from '../../platform/database/sql.ts'
import {
  type ArchiveSizes,
  archiveEnds,
  archiveId,
  archiveState,
  archiveStep,
  beginArchive,
  checkArchive,
  endArchive,
} from './archiving.ts'
import { countTransfers, packTransfers } from './packed.ts'
import { transferLog } from './postgres_log.ts'
import type { BlockContents } from './transfer_archive.ts'
import type { NewBlock } from './transfer_log.ts'

const SIZES: ArchiveSizes = { portion: 3, stay: 4 }
const MINUTE_MS = 60_000
const [from, to] = [Buffer.alloc(20, 1), Buffer.alloc(20, 2)]

const blockWith = (number: number, transfers: number): NewBlock => ({
  number,
  id: `block ${number}`,
  time: new Date(number * 3_000),
  freezes: [],
  transfers: packTransfers(
    Array.from({ length: transfers }, (_, i) => ({
      asset: i,
      from,
      to,
      amount: BigInt(number * 10 + i + 1),
    })),
  ),
  tx_ids: Buffer.alloc(32 * transfers, number),
})

/** A log that grows at both ends, its archive, and a clock that stands still. */
class Scene {
  readonly sql: Sql
  readonly archive = new MemoryArchive()
  now = new Date('2026-01-01T00:00:00Z')
  /** The log as it was written, block by block. */
  readonly written: NewBlock[] = []
  readonly clock = { now: () => this.now }

  constructor(sql: Sql) {
    this.sql = sql
  }

  step = (sizes = SIZES) =>
    archiveStep({ sql: this.sql, clock: this.clock, archive: this.archive }, sizes)

  async append(...transfers: number[]): Promise<void> {
    const next = (this.written.at(-1)?.number ?? 99) + 1
    const blocks = transfers.map((count, i) => blockWith(next + i, count))
    await this.sql.begin((tx) => transferLog(tx).append(blocks))
    this.written.push(...blocks)
  }

  async prepend(...transfers: number[]): Promise<void> {
    const first = this.written[0]!.number
    const blocks = transfers.map((count, i) => blockWith(first - transfers.length + i, count))
    await this.sql.begin((tx) => transferLog(tx).prepend(blocks))
    this.written.unshift(...blocks)
  }

  async begin(): Promise<string> {
    await this.archive.prepare(await archiveId(this.sql))
    return this.sql.begin((tx) => beginArchive(tx, { at: this.now, by: 'me' }))
  }

  end = () => this.sql.begin(endArchive)

  wait(minutes: number): void {
    this.now = new Date(this.now.getTime() + minutes * MINUTE_MS)
  }

  /** Whether the step is due, and moves something when it is run: these must be the same. */
  async run(): Promise<boolean> {
    const step = this.step()
    const due = await isDue(this.sql, step)
    const moved = await step.run()
    assert.equal(due, moved, `due: ${due}, but it moved: ${moved}`)
    return moved
  }

  async runAll(): Promise<void> {
    for (let runs = 0; await this.run(); runs++) assert.ok(runs < 100)
  }

  /** Copies what there is in portions of some size, and releases it. */
  async moveAll(sizes: ArchiveSizes): Promise<void> {
    const step = this.step(sizes)
    while (await step.run());
    this.wait(20)
    while (await step.run());
  }

  portions = () => this.sql<PortionRow>`
    select first_number, last_number, transfers, put_at, released_at from flow_archive_portion
    order by first_number`

  /** First and last number of each portion, and whether it is released. */
  async brief(): Promise<string[]> {
    const rows = await this.portions()
    return rows.map(
      ({ first_number, last_number, released_at }) =>
        `${first_number}-${last_number}${released_at ? ' released' : ''}`,
    )
  }

  /** Throws what is not as it was written, or not where it should be. */
  async verify(): Promise<void> {
    const { sql, archive, written } = this
    const portions = await this.portions()
    for (const [i, { first_number, last_number, transfers }] of portions.entries()) {
      assert.equal(Number(last_number - first_number) + 1, SIZES.portion)
      if (i > 0) assert.equal(first_number, portions[i - 1]!.last_number + 1n, 'side by side')
      const inside = written.filter(({ number }) => number >= first_number && number <= last_number)
      const sum = inside.reduce((count, block) => count + countTransfers(block.transfers), 0)
      assert.equal(Number(transfers), sum)
    }
    const last = written.at(-1)!.number
    if (portions.length > 0)
      assert.ok(Number(portions.at(-1)!.last_number) <= last - SIZES.stay, 'the newest stay')
    const read = await transferLog(sql, archive).after(-1, { limit: 10_000, base: 0n })
    assert.equal(read.length, written.length)
    const lies_here = new Map(
      (
        await sql<{ number: bigint; here: boolean }>`
          select number, transfers is not null as here from flow_block`
      ).map((row) => [Number(row.number), row.here]),
    )
    for (const [i, block] of written.entries()) {
      assert.deepEqual(Buffer.from(read[i]!.transfers), Buffer.from(block.transfers))
      assert.deepEqual(Buffer.from(read[i]!.tx_ids), Buffer.from(block.tx_ids))
      const portion = portions.find(
        (one) => one.first_number <= block.number && one.last_number >= block.number,
      )
      const is_there = !!portion?.released_at && block.transfers.length > 0
      assert.equal(lies_here.get(block.number), !is_there, `block ${block.number}`)
    }
  }
}

type PortionRow = {
  first_number: bigint
  last_number: bigint
  transfers: bigint
  put_at: Date
  released_at: Date | null
}

async function newScene(t: TestContext): Promise<Scene> {
  const { sql } = await freshDatabase(t)
  return new Scene(sql)
}

test('nothing is moved before an operator begins it, nor after it has ended', async (t) => {
  const scene = await newScene(t)
  await scene.append(1, 1, 1, 1, 1, 1, 1, 1, 1)
  await scene.runAll()
  assert.deepEqual([await archiveState(scene.sql), scene.archive.puts], [undefined, 0])
  assert.equal(await scene.end(), false)
  assert.deepEqual([await scene.begin(), await scene.begin()], ['ended', 'begun'])
  const begun = (await archiveState(scene.sql))!
  assert.deepEqual([begun.state, begun.begun_by, begun.begun_at], ['begun', 'me', scene.now])
  assert.deepEqual([begun.first_number, begun.transfers, begun.released], [null, 0n, 0n])
  await scene.runAll()
  assert.equal(await scene.end(), true)
  assert.equal((await archiveEnds(scene.sql))!.state, 'ending')
  await scene.runAll()
  assert.deepEqual(
    [await archiveState(scene.sql), await archiveEnds(scene.sql)],
    [undefined, undefined],
  )
  await scene.verify()
})

test('a whole portion is copied once so many blocks come after it, and not sooner', async (t) => {
  const scene = await newScene(t)
  await scene.begin()
  assert.equal(await scene.run(), false, 'the log is empty')
  await scene.append(1, 0, 2, 1, 1, 1)
  assert.equal(await scene.run(), false)
  await scene.append(1)
  assert.equal(await scene.run(), true)
  assert.deepEqual(await scene.brief(), ['100-102'])
  await scene.append(1, 1)
  assert.equal(await scene.run(), false)
  await scene.append(1)
  assert.equal(await scene.run(), true)
  assert.deepEqual(await scene.brief(), ['100-102', '103-105'])
  const { first_number, last_number, transfers, released } = (await archiveState(scene.sql))!
  assert.deepEqual([first_number, last_number, transfers, released], [100n, 105n, 6n, 0n])
  await scene.verify()
})

test('older blocks that come later are copied a whole portion at a time, too', async (t) => {
  const scene = await newScene(t)
  await scene.append(1, 1, 1, 1, 1, 1, 1)
  await scene.begin()
  await scene.runAll()
  await scene.prepend(2, 2)
  assert.equal(await scene.run(), false)
  await scene.prepend(2)
  assert.equal(await scene.run(), true)
  assert.deepEqual(await scene.brief(), ['97-99', '100-102'])
  await scene.verify()
})

test('a portion is released 20 minutes after it was put, the oldest first', async (t) => {
  const scene = await newScene(t)
  await scene.append(1, 0, 2, 1, 1, 1, 1)
  await scene.begin()
  await scene.runAll()
  scene.wait(5)
  await scene.append(1, 1, 1)
  await scene.runAll()
  scene.wait(14.999)
  assert.equal(await scene.run(), false)
  scene.wait(0.001)
  await scene.runAll()
  assert.deepEqual(await scene.brief(), ['100-102 released', '103-105'])
  const { released } = (await archiveState(scene.sql))!
  assert.equal(released, 3n)
  await scene.verify()
  scene.wait(5)
  await scene.runAll()
  assert.deepEqual(await scene.brief(), ['100-102 released', '103-105 released'])
  await scene.verify()
})

test('what the archive has lost before its release is put again, and waits anew', async (t) => {
  const scene = await newScene(t)
  await scene.append(1, 0, 2, 1, 1, 1, 1)
  await scene.begin()
  await scene.runAll()
  const losses = [
    () => scene.archive.blocks.delete(102),
    () => scene.archive.with_legs.delete(100),
    () => scene.archive.blocks.set(100, { ...blockWith(100, 1), tx_ids: Buffer.alloc(32, 7) }),
  ]
  for (const lose of losses) {
    lose()
    scene.wait(20)
    assert.equal(await scene.run(), true)
    assert.deepEqual(await scene.brief(), ['100-102'], 'it is not released')
    assert.equal(await scene.run(), false)
  }
  scene.wait(20)
  await scene.runAll()
  assert.deepEqual(await scene.brief(), ['100-102 released'])
  await scene.verify()
})

test('only the portion that the archive has lost waits anew, be it of one block', async (t) => {
  const scene = await newScene(t)
  await scene.append(0, 2, 0, 1, 1, 1, 1, 1, 1, 1)
  await scene.begin()
  await scene.runAll()
  assert.deepEqual(await scene.brief(), ['100-102', '103-105'])
  scene.archive.blocks.delete(101)
  scene.wait(20)
  await scene.run()
  await scene.runAll()
  assert.deepEqual(await scene.brief(), ['100-102', '103-105 released'])
  scene.wait(20)
  await scene.runAll()
  assert.deepEqual(await scene.brief(), ['100-102 released', '103-105 released'])
  await scene.verify()
})

test('what an operator begins again while a portion is read stays where it is', async (t) => {
  const scene = await newScene(t)
  await scene.append(1, 1, 1, 1, 1, 1, 1)
  await scene.begin()
  await scene.runAll()
  scene.wait(20)
  await scene.runAll()
  await scene.end()
  const { archive } = scene
  const contents = archive.contents.bind(archive)
  archive.contents = async (numbers) => {
    archive.contents = contents
    await scene.begin()
    return contents(numbers)
  }
  await scene.step().run()
  assert.deepEqual(await scene.brief(), ['100-102 released'])
  await scene.verify()
})

test('a portion that another process has noted meanwhile is not noted twice', async (t) => {
  const scene = await newScene(t)
  await scene.append(1, 1, 1, 1, 1, 1, 1)
  await scene.begin()
  scene.archive.afterPut = async () => {
    scene.archive.afterPut = () => {}
    assert.equal(await scene.step().run(), true)
  }
  assert.equal(await scene.step().run(), false)
  assert.deepEqual(await scene.brief(), ['100-102'])
  await scene.verify()
})

test('a portion that would leave a gap is not noted', async (t) => {
  const scene = await newScene(t)
  await scene.append(...Array.from({ length: 13 }, () => 1))
  await scene.begin()
  await scene.run()
  await scene.run()
  // While the third is put, the second is taken back.
  scene.archive.afterPut = async () => {
    scene.archive.afterPut = () => {}
    await scene.end()
    await scene.step().run()
    await scene.begin()
  }
  assert.equal(await scene.step().run(), false)
  assert.deepEqual(await scene.brief(), ['100-102'])
  await scene.runAll()
  assert.deepEqual(await scene.brief(), ['100-102', '103-105', '106-108'])
  await scene.verify()
})

test('what is put while an operator ends it is not noted', async (t) => {
  const scene = await newScene(t)
  await scene.append(1, 1, 1, 1, 1, 1, 1)
  await scene.begin()
  scene.archive.afterPut = async () => {
    scene.archive.afterPut = () => {}
    await scene.end()
  }
  assert.equal(await scene.step().run(), false)
  assert.deepEqual(await scene.brief(), [])
  await scene.runAll()
  assert.equal(await archiveState(scene.sql), undefined)
  await scene.verify()
})

test('nothing is released while it ends', async (t) => {
  const scene = await newScene(t)
  await scene.append(1, 1, 1, 1, 1, 1, 1)
  await scene.begin()
  await scene.runAll()
  scene.wait(20)
  const { archive } = scene
  const contents = archive.contents.bind(archive)
  archive.contents = async (numbers) => {
    archive.contents = contents
    await scene.end()
    return contents(numbers)
  }
  await scene.step().run()
  assert.deepEqual(await scene.brief(), ['100-102'])
  await scene.verify()
})

test('what comes back comes from the newest portion on, and only once', async (t) => {
  const scene = await newScene(t)
  await scene.append(1, 2, 0, 1, 3, 1, 1, 1, 1, 1, 1, 1, 1)
  await scene.begin()
  await scene.runAll()
  scene.wait(20)
  await scene.runAll()
  assert.deepEqual(await scene.brief(), [
    '100-102 released',
    '103-105 released',
    '106-108 released',
  ])
  await scene.end()
  assert.equal(await scene.run(), true)
  assert.deepEqual(await scene.brief(), ['100-102 released', '103-105 released'])
  await scene.verify()
  // Another process takes the same portion back while this one reads it.
  const { archive } = scene
  const contents = archive.contents.bind(archive)
  archive.contents = async (numbers) => {
    archive.contents = contents
    await scene.step().run()
    return contents(numbers)
  }
  await scene.step().run()
  assert.deepEqual(await scene.brief(), ['100-102 released'])
  await scene.verify()
  await scene.runAll()
  assert.equal(await archiveState(scene.sql), undefined)
  await scene.verify()
})

test('tables of another log are neither written to nor read', async (t) => {
  const scene = await newScene(t)
  await scene.append(1, 1, 1, 1, 1, 1, 1)
  await scene.begin()
  scene.archive.log_id = 'another'
  await assert.rejects(scene.step().run(), Outage)
  assert.equal(scene.archive.puts, 0)
  const { sql, archive } = scene
  await assert.rejects(
    checkArchive({ sql, archive }, () => {}),
    Outage,
  )
})

/** A scene of which two portions of four blocks with transfers are in the archive alone. */
async function releasedScene(t: TestContext): Promise<Scene> {
  const scene = await newScene(t)
  await scene.append(1, 0, 2, 1, 2, 0, 1, 1, 1, 1)
  await scene.begin()
  await scene.runAll()
  scene.wait(20)
  await scene.runAll()
  assert.deepEqual(await scene.brief(), ['100-102 released', '103-105 released'])
  return scene
}

const wholeBlock = ({ written }: Scene, number: number): BlockContents =>
  written.find((block) => block.number === number)!

test('a check reads what is released alone, and names the blocks that are broken', async (t) => {
  const scene = await releasedScene(t)
  const { sql, archive } = scene
  await scene.append(1, 1, 1)
  await scene.runAll()
  const told: [number, number][] = []
  const check = () => checkArchive({ sql, archive }, (...how_far) => void told.push(how_far))
  assert.deepEqual(await check(), { blocks: 6, mended: 0, broken: 0, first_broken: [] })
  assert.deepEqual(told, [
    [3, 6],
    [6, 6],
  ])
  archive.blocks.delete(102)
  archive.with_legs.delete(103)
  archive.blocks.delete(106)
  assert.deepEqual(await check(), { blocks: 6, mended: 0, broken: 2, first_broken: [102, 103] })
  const nothing = await newScene(t)
  nothing.archive.log_id = await archiveId(nothing.sql)
  const empty = { blocks: 0, mended: 0, broken: 0, first_broken: [] }
  assert.deepEqual(await checkArchive(nothing, () => {}), empty)
})

test('what is mended is as its hash says, and the record has it portion by portion', async (t) => {
  const scene = await releasedScene(t)
  const { sql, archive } = scene
  archive.blocks.delete(102)
  archive.with_legs.delete(100)
  archive.blocks.delete(103)
  archive.blocks.delete(104)
  const read: number[] = []
  const noted: [bigint, number][] = []
  const mender = {
    async read(number: number) {
      read.push(number)
      // Of one the node has other transfers, which are not put there.
      return number === 104 ? { ...blockWith(104, 1), number } : wholeBlock(scene, number)
    },
    async noteMended(portion: { first_number: bigint; blocks: number }) {
      noted.push([portion.first_number, portion.blocks])
    },
  }
  assert.deepEqual(await checkArchive({ sql, archive, mender }, () => {}), {
    blocks: 6,
    mended: 3,
    broken: 1,
    first_broken: [104],
  })
  assert.deepEqual(read, [102, 103, 104])
  assert.deepEqual(noted, [
    [100n, 2],
    [103n, 1],
  ])
  // A portion of which nothing could be mended is not noted; what is whole is not read again.
  const { mended, broken } = await checkArchive({ sql, archive, mender }, () => {})
  assert.deepEqual([mended, broken, noted.length, read.slice(3)], [0, 1, 2, [104]])
  const right = { ...mender, read: async (number: number) => wholeBlock(scene, number) }
  const last = await checkArchive({ sql, archive, mender: right }, () => {})
  assert.deepEqual([last.mended, last.broken], [1, 0])
  await scene.verify()
})

test('mending gives up at the fifth block in turn that the node cannot give', async (t) => {
  const scene = await newScene(t)
  const { sql, archive } = scene
  await scene.append(1, 1, 1, 1, 1, 1, 1, 1, 1)
  await scene.begin()
  await scene.moveAll({ portion: 8, stay: 1 })
  archive.blocks.clear()
  let reads = 0
  const mend = (thrownAt: (read: number) => Error | undefined) => {
    reads = 0
    const mender = {
      async read(number: number) {
        reads += 1
        const thrown = thrownAt(reads)
        if (thrown) throw thrown
        return wholeBlock(scene, number)
      },
      noteMended: async () => {},
    }
    return checkArchive({ sql, archive, mender }, () => {})
  }
  const out = new Outage('The node does not answer.')
  await assert.rejects(
    mend(() => out),
    /The node does not answer/,
  )
  assert.equal(reads, 5)
  // One that is not an outage ends it at once.
  await assert.rejects(
    mend(() => new Error('wrong')),
    /wrong/,
  )
  assert.equal(reads, 1)
  // Four in turn, one that is there, and three: they stay broken, and the one is mended.
  const some = await mend((read) => (read === 5 ? undefined : out))
  assert.deepEqual([reads, some.mended, some.broken], [8, 1, 7])
})

test('the first hundred broken blocks are named, and all of them counted', async (t) => {
  const scene = await newScene(t)
  const { sql, archive } = scene
  await scene.append(...Array.from({ length: 122 }, () => 1))
  await scene.begin()
  await scene.moveAll({ portion: 60, stay: 1 })
  archive.blocks.clear()
  const { broken, first_broken } = await checkArchive({ sql, archive }, () => {})
  assert.deepEqual([broken, first_broken.length, first_broken.at(-1)], [120, 100, 199])
})

test('of every sixteenth of a portion some transfers are looked for by address', async (t) => {
  const scene = await newScene(t)
  const { sql, archive } = scene
  await scene.append(...Array.from({ length: 34 }, () => 1))
  await scene.begin()
  await scene.moveAll({ portion: 33, stay: 1 })
  archive.with_legs.clear()
  // Of 33 blocks each third one: no more than sixteen questions.
  const { first_broken } = await checkArchive({ sql, archive }, () => {})
  assert.deepEqual(first_broken, [100, 103, 106, 109, 112, 115, 118, 121, 124, 127, 130])
})

for (const seed of ['one', 'two', 'three'])
  test(`whatever happens in between, nothing is lost: ${seed}`, async (t) => {
    const scene = await newScene(t)
    const { archive } = scene
    const dice = new Dice(seed)
    const some = () => Array.from({ length: dice.between(1, 4) }, () => dice.between(0, 2))
    const breaks = () => {
      const where = dice.pick(['beforePut', 'afterPut'] as const)
      archive[where] = () => {
        archive[where] = () => {}
        throw new Outage('broken off')
      }
    }
    const lose = async () => {
      // Only what the database has still: the rest would be lost indeed.
      const unreleased = (await scene.portions()).filter((one) => !one.released_at)
      if (unreleased.length > 0) archive.blocks.delete(Number(dice.pick(unreleased).first_number))
    }
    const deeds: (() => unknown)[] = [
      () => scene.append(...some()),
      () => scene.append(...some()),
      () => scene.prepend(...some()),
      () => scene.wait(dice.pick([1, 7, 19.99, 20, 21])),
      () => scene.wait(20),
      () => scene.begin(),
      () => scene.begin(),
      () => (dice.chance(0.3) ? scene.end() : undefined),
      breaks,
      lose,
    ]
    await scene.append(...some())
    let moved = 0
    for (let round = 0; round < 150; round++) {
      await dice.pick(deeds)()
      const runs = dice.between(0, 3)
      for (let i = 0; i < runs; i++) {
        const run = scene.run().catch((thrown: unknown) => {
          if (!(thrown instanceof Outage)) throw thrown
        })
        if (await run) moved += 1
      }
      await scene.verify()
    }
    assert.ok(moved > 30, `it moved ${moved} times`)
  })
