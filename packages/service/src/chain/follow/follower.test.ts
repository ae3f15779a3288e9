// The follower against a development chain: what is stored is the node's branch, whatever happens
// to it meanwhile.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { person, Scene, TRX } from 'penstock-devchain/scene.ts'
import { emptyTables, freshDatabase } from 'penstock-test/harness/database.ts'
import { untilBlocked } from 'penstock-test/harness/own_transaction.ts'
import { Outage } from '../../lib/fault.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { type Node, type Transport, tronNode } from '../node/node.ts'
import { pruneStep, type StoredBlock, takeBack } from './blocks.ts'
import { joinReaders, type ReadStep, readBlocks, readSolidBlocks } from './cursors.ts'
import { chainPace, follow, followStep, type Needs } from './follower.ts'
import { chainState } from './progress.ts'

class Bench {
  readonly scene: Scene
  readonly sql: Sql
  readonly node: Node
  now_ms = 1_780_000_000_000
  /** What comes before an answer, or instead of it. */
  before: (path: string) => void = () => {}

  constructor(sql: Sql, seed = 'bench') {
    this.sql = sql
    this.scene = new Scene({ alice: 1_000_000n * TRX }, { seed })
    this.scene.leaveBlocksUnsigned()
    this.node = tronNode({ nodes: [{ url: 'http://devchain' }], transport: this.transport })
  }

  readonly transport: Transport = async ({ url, body }) => {
    const path = new URL(url).pathname
    this.before(path)
    return this.scene.devchain.request('POST', path, body)
  }

  get needs(): Needs {
    return {
      sql: this.sql,
      node: this.node,
      clock: { now: () => new Date(this.now_ms) },
      tokens: new Set(),
    }
  }

  /** Follows until nothing moves. */
  async catchUp(needs = this.needs): Promise<void> {
    for (let i = 0; i < 1_000; i++) if (!(await follow(needs))) return
    throw new Error('it never ends')
  }

  pay(name: string, sun: bigint): void {
    this.scene.send(person('alice'), 'TransferContract', {
      to_address: person(name).hex,
      amount: sun,
    })
  }

  /** Compares what is stored with the chain, block by block. */
  async compare(): Promise<void> {
    const rows = await this.sql<{ number: bigint; id: string; parent_id: string; time: Date }>`
      select number, id, parent_id, time from block order by number`
    const { chain, head, solid } = this.scene.devchain
    for (const [i, row] of rows.entries()) {
      const block = chain.block(Number(row.number))
      assert.ok(block)
      assert.equal(row.id, block.id, `block ${row.number}`)
      assert.equal(row.time.getTime(), block.header.timestamp)
      if (i > 0) assert.equal(row.parent_id, rows[i - 1]!.id)
    }
    const state = await chainState(this.sql)
    assert.ok(state)
    assert.deepEqual([state.head_number, state.head_id], [head.header.number, head.id])
    assert.equal(state.head_time.getTime(), head.header.timestamp)
    assert.equal(state.solid_number, solid.header.number)
    assert.equal(Number(rows.at(-1)?.number), head.header.number)
  }
}

async function bench(t: TestContext): Promise<Bench> {
  const { sql } = await freshDatabase(t)
  return new Bench(sql)
}

test('following begins at the solid block and reaches the head', async (t) => {
  const one = await bench(t)
  const solid = one.scene.devchain.solid.header.number
  await one.catchUp()
  await one.compare()
  const [first] = await one.sql<{ number: bigint }>`select min(number) as number from block`
  assert.equal(Number(first?.number), solid)
})

test('a long absence is caught up in portions, from the solid side where it can', async (t) => {
  const one = await bench(t)
  await one.catchUp()
  one.scene.mine(150)
  const paths: string[] = []
  one.before = (path) => {
    if (path.endsWith('getblockbylimitnext')) paths.push(path.split('/')[1]!)
  }
  await one.catchUp()
  await one.compare()
  assert.ok(paths.filter((side) => side === 'walletsolidity').length >= 6, paths.join(' '))
  assert.equal(paths.at(-1), 'wallet')
})

test('a fork is followed: what was on the lost branch is taken back', async (t) => {
  const one = await bench(t)
  one.scene.mine(5)
  await one.catchUp()
  one.pay('bob', 5n)
  one.scene.mine(2)
  await one.catchUp()
  one.scene.devchain.reorganize(4, true)
  await one.catchUp()
  await one.compare()
  const [paid] = await one.sql`select 1 from block where contents::text like '%"5"%'`
  assert.equal(paid, undefined)
})

test('a fork to a shorter branch is followed once that branch is the longer one', async (t) => {
  const one = await bench(t)
  one.scene.mine(5)
  await one.catchUp()
  one.scene.devchain.chain.reorganize(3, true)
  await one.catchUp()
  one.scene.wait(30)
  one.scene.mine(3)
  await one.catchUp()
  await one.compare()
})

test('a fork as deep as the solid block is followed', async (t) => {
  const one = await bench(t)
  one.scene.mine(40)
  await one.catchUp()
  const { head, solid } = one.scene.devchain
  one.scene.devchain.reorganize(head.header.number - solid.header.number, true)
  await one.catchUp()
  await one.compare()
})

test('a node that goes back for a while takes nothing that is solid with it', async (t) => {
  const one = await bench(t)
  one.scene.mine(10)
  await one.catchUp()
  const before = await chainState(one.sql)
  // Another node of the same chain, some blocks behind.
  const behind = new Scene({ alice: 1_000_000n * TRX }, { seed: 'bench' })
  behind.mine(6)
  assert.equal(
    behind.devchain.chain.blockId(20),
    one.scene.devchain.chain.blockId(20),
    'the same chain',
  )
  const node = tronNode({
    nodes: [{ url: 'http://behind' }],
    transport: async ({ url, body }) =>
      behind.devchain.request('POST', new URL(url).pathname, body),
  })
  one.now_ms += 10_000
  for (let i = 0; i < 5; i++)
    await follow({ ...one.needs, node }).catch((thrown) => assert.ok(thrown instanceof Outage))
  const after = await chainState(one.sql)
  assert.ok(after!.solid_number >= before!.solid_number)
  await one.catchUp()
  await one.compare()
})

test('a solid side that is behind, on a branch of its own, holds up nothing', async (t) => {
  const one = await bench(t)
  await one.catchUp()
  one.scene.mine(10)
  await one.catchUp()
  const before = await chainState(one.sql)
  const other = new Scene({ alice: 1_000_000n * TRX }, { seed: 'another branch' })
  other.mine(3)
  const behind = other.devchain.solid
  const [stored] = await one.sql<{ id: string }>`
    select id from block where number = ${behind.header.number}`
  assert.ok(stored && stored.id !== behind.id, 'it is another block than ours')
  assert.ok(behind.header.number < before!.solid_number)
  const node = tronNode({
    nodes: [{ url: 'http://devchain' }],
    transport: async ({ url, body }) => {
      const path = new URL(url).pathname
      const of = path === '/walletsolidity/getblock' ? other : one.scene
      return of.devchain.request('POST', path, body)
    },
  })
  one.scene.mine(2)
  one.now_ms += 10_000
  await one.catchUp({ ...one.needs, node })
  const after = await chainState(one.sql)
  assert.equal(after!.head_id, one.scene.devchain.head.id)
  assert.equal(after!.solid_number, before!.solid_number)
})

test('a node of another chain is refused, and nothing that is stored is lost', async (t) => {
  const one = await bench(t)
  one.scene.mine(30)
  await one.catchUp()
  const stored = await one.sql`
      select number, id from block where number <= (select solid_number from chain) order by number`
  const stranger = new Bench(one.sql, 'another chain')
  stranger.scene.mine(60)
  stranger.now_ms = one.now_ms + 60_000
  for (let i = 0; i < 10; i++) await follow(stranger.needs).catch(() => {})
  const kept = await one.sql`
    select number, id from block where number <= ${stored.at(-1)!.number} order by number`
  assert.deepEqual(kept, stored)
  await assert.rejects(async () => {
    for (let i = 0; i < 10; i++) await follow(stranger.needs)
  })
  const foreign =
    await one.sql`select number from block where id = ${stranger.scene.devchain.head.id}`
  assert.deepEqual(foreign, [])
})

test('a block whose parent is not the one before is not stored', async (t) => {
  const one = await bench(t)
  await one.catchUp()
  one.scene.mine(3)
  const lying: Transport = async (request) => {
    const answer = await one.transport(request)
    if (!request.url.endsWith('getblockbylimitnext')) return answer
    const value = JSON.parse(answer.body) as {
      block?: { block_header: { raw_data: { parentHash: string } } }[]
    }
    value.block![1]!.block_header.raw_data.parentHash = 'c'.repeat(64)
    return { ...answer, body: JSON.stringify(value) }
  }
  const node = tronNode({ nodes: [{ url: 'http://liar' }], transport: lying })
  await follow({ ...one.needs, node })
  const state = await chainState(one.sql)
  assert.equal(state?.head_number, one.scene.devchain.head.header.number - 2)
})

test('two followers at once store each block once', async (t) => {
  const one = await bench(t)
  for (let round = 0; round < 10; round++) {
    one.scene.mine(round % 3 === 0 ? 25 : 2)
    if (round % 4 === 3) one.scene.devchain.reorganize(2)
    const outcomes = await Promise.allSettled([1, 2, 3].map(() => follow(one.needs)))
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') assert.fail(String(outcome.reason))
  }
  await one.catchUp()
  await one.compare()
})

test('while nothing happens the time of the last answer is kept fresh', async (t) => {
  const one = await bench(t)
  await one.catchUp()
  const seen = async () => (await chainState(one.sql))!.seen_at.getTime()
  const first = await seen()
  one.now_ms += 3_000
  assert.equal(await follow(one.needs), false)
  assert.equal(await seen(), first, 'not written for nothing')
  one.now_ms += 1_000
  assert.equal(await follow(one.needs), false)
  assert.equal(await seen(), one.now_ms)
  one.before = () => {
    throw new Error('down')
  }
  one.now_ms += 5_000
  await assert.rejects(follow(one.needs), Outage)
  assert.equal(await seen(), one.now_ms - 5_000)
})

/** Reads everything there is, in as many transactions as it takes. */
async function readAll(
  sql: Sql,
  name: string,
  side: 'head' | 'solid' = 'solid',
): Promise<StoredBlock[]> {
  const read: StoredBlock[] = []
  const once = () =>
    readBlocks(sql, { name, side }, async (_tx, blocks) => {
      read.push(...blocks)
    })
  while (await once()) {}
  return read
}

test('a reader gets each solid block once, in order, from where the follower began', async (t) => {
  const one = await bench(t)
  await one.catchUp()
  const [first] = await one.sql<{ number: bigint }>`select min(number) as number from block`
  for (let i = 1; i <= 30; i++) {
    one.pay('bob', BigInt(i))
    one.scene.mine(2)
  }
  await one.catchUp()
  const { solid } = one.scene.devchain
  const read = await readAll(one.sql, 'reader')
  const numbers = read.map(({ number }) => number)
  const expected = Array.from(
    { length: solid.header.number - Number(first!.number) + 1 },
    (_, i) => Number(first!.number) + i,
  )
  assert.deepEqual(numbers, expected)
  const sums = read.flatMap(({ contents }) => contents.moves.map(({ amount }) => Number(amount)))
  assert.deepEqual(
    sums,
    Array.from({ length: sums.length }, (_, i) => i + 1),
  )
  assert.deepEqual(await readAll(one.sql, 'reader'), [])
  one.scene.mine(3)
  await one.catchUp()
  assert.equal((await readAll(one.sql, 'reader')).length, 3)
})

test('a reader whose work fails reads the same blocks again', async (t) => {
  const one = await bench(t)
  one.scene.mine(30)
  await one.catchUp()
  await assert.rejects(
    readSolidBlocks(one.sql, 'reader', async () => {
      throw new Error('crash')
    }),
    /crash/,
  )
  const [first] = await readAll(one.sql, 'reader')
  const [stored] = await one.sql<{ number: bigint }>`select min(number) as number from block`
  assert.equal(first?.number, Number(stored!.number))
})

test('a reader of the head reads again what a fork has replaced', async (t) => {
  const one = await bench(t)
  await one.catchUp()
  one.scene.mine(5)
  await one.catchUp()
  const before = await readAll(one.sql, 'reader', 'head')
  one.scene.devchain.reorganize(2)
  await one.catchUp()
  const again = await readAll(one.sql, 'reader', 'head')
  assert.deepEqual(
    again.map(({ number }) => number),
    [before.at(-1)!.number - 1, before.at(-1)!.number, before.at(-1)!.number + 1],
  )
  assert.notEqual(again[0]!.id, before.at(-2)!.id)
})

for (const begins of ['before the fork is known', 'while it is taken back'])
  test(`a reader of the head that begins ${begins} reads what comes in its place`, async (t) => {
    const one = await bench(t)
    await one.catchUp()
    await readAll(one.sql, 'reader', 'head')
    one.scene.mine(2)
    await one.catchUp()
    const before = begins === 'before the fork is known'
    if (!before) await readAll(one.sql, 'reader', 'head')
    const reader = { name: 'reader', side: 'head' } as const
    const steps = joinReaders(one.sql, [
      {
        ...followStep(one.needs),
        name: 'arrive',
        reads: { ...reader, work: (_tx, blocks) => work(blocks) },
      } as ReadStep,
    ])
    const read: string[] = []
    let [reached, goOn] = [() => {}, () => {}]
    const reading = new Promise<void>((resolve) => (reached = resolve))
    const waiting = new Promise<void>((resolve) => (goOn = resolve))
    async function work(blocks: readonly StoredBlock[]) {
      read.push(...blocks.map(({ id }) => id))
      reached()
      if (before) await waiting
    }
    const keep = one.scene.devchain.head.header.number - 2
    one.scene.devchain.reorganize(2, true)
    let [taking, joined]: [Promise<void>, Promise<unknown>] = [Promise.resolve(), Promise.resolve()]
    if (before) {
      joined = steps[0]!.run()
      await reading
      taking = one.sql.begin((tx) => takeBack(tx, keep))
      await untilBlocked(one.sql, taking)
      goOn()
    } else
      taking = one.sql.begin(async (tx) => {
        await takeBack(tx, keep)
        joined = steps[0]!.run()
        await untilBlocked(one.sql, joined)
      })
    await taking
    await joined
    await one.catchUp()
    read.length = 0
    while (await steps[0]!.run()) {}
    const { chain, head } = one.scene.devchain
    const ids = Array.from(
      { length: head.header.number - keep },
      (_, i) => chain.block(keep + 1 + i)!.id,
    )
    assert.deepEqual(read, ids)
  })

test('several readers at once: each block is read once by each name', async (t) => {
  const one = await bench(t)
  one.scene.mine(90)
  await one.catchUp()
  const [a, b, c] = await Promise.all([
    readAll(one.sql, 'x'),
    readAll(one.sql, 'x'),
    readAll(one.sql, 'y'),
  ])
  const both = [...a, ...b].map(({ number }) => number).toSorted((x, y) => x - y)
  assert.deepEqual(
    both,
    c.map(({ number }) => number),
  )
})

test('blocks are forgotten when every reader is far past them, and no sooner', async (t) => {
  const one = await bench(t)
  one.scene.mine(2_100)
  one.now_ms += 1
  await one.catchUp()
  // The follower started at the solid block, so its store is short: give it a long past.
  await one.sql`
    insert into block (number, id, parent_id, time, contents)
    select n, 'old ' || n, '', now(), '{}' from generate_series(-3000, (select min(number) - 1
      from block)) as n`
  const { solid } = one.scene.devchain
  const prune = pruneStep({ sql: one.sql })
  await one.sql`insert into cursor (name, number) values ('slow', -2990)`
  await prune.run()
  const least = async () =>
    Number((await one.sql<{ n: bigint }>`select min(number) as n from block`)[0]!.n)
  assert.equal(await least(), -3_000)
  await one.sql`update cursor set number = ${solid.header.number}`
  while (await prune.run()) {}
  assert.equal(await least(), solid.header.number - 2_000)
})

type Turn =
  | { mine: number }
  | { fork: number; drop: boolean }
  | { pay: number }
  | { follow: number }
  | { fail: true }

const turn: fc.Arbitrary<Turn> = fc.oneof(
  fc.record({ mine: fc.constantFrom(1, 1, 2, 30) }),
  fc.record({ fork: fc.integer({ min: 1, max: 17 }), drop: fc.boolean() }),
  fc.record({ pay: fc.integer({ min: 1, max: 1_000 }) }),
  fc.record({ follow: fc.integer({ min: 1, max: 3 }) }),
  fc.constant({ fail: true } as const),
)

test('whatever the chain does, the store follows, and solid payments are read once', async (t) => {
  const { sql } = await freshDatabase(t)
  await fc.assert(
    fc.asyncProperty(fc.array(turn, { minLength: 3, maxLength: 15 }), async (turns) => {
      await emptyTables(sql)
      const one = new Bench(sql)
      one.scene.mine(20)
      await one.catchUp()
      const first = one.scene.devchain.solid.header.number
      const read: StoredBlock[] = []
      for (const given of turns) {
        if ('mine' in given) one.scene.mine(given.mine)
        else if ('pay' in given) one.pay('bob', BigInt(given.pay))
        else if ('fork' in given) one.scene.devchain.reorganize(given.fork, given.drop)
        else if ('fail' in given) {
          let left = 2
          one.before = () => {
            if (left-- === 0) throw new Error('down')
          }
          await follow(one.needs).catch((thrown) => assert.ok(thrown instanceof Outage))
          one.before = () => {}
        } else for (let i = 0; i < given.follow; i++) await follow(one.needs)
        one.now_ms += 3_000
        read.push(...(await readAll(sql, 'reader')))
      }
      await one.catchUp()
      await one.compare()
      read.push(...(await readAll(sql, 'reader')))
      const { chain, solid } = one.scene.devchain
      const paid: string[] = []
      for (let number = read[0]!.number; number <= solid.header.number; number++) {
        for (const { transaction } of chain.block(number)!.transactions) {
          if (transaction.contract_name === 'TransferContract') paid.push(transaction.id)
        }
      }
      assert.deepEqual(
        read.flatMap(({ contents }) => contents.moves.map(({ tx_id }) => tx_id)),
        paid,
      )
      assert.ok(read[0]!.number <= first)
    }),
    { numRuns: 40 },
  )
})

test('a block is looked for when it is due, as the last ones came', () => {
  let now_ms = 0
  const pace = chainPace({ now: () => new Date(now_ms) })
  /** In how many milliseconds the next one is due, when it was found so long after the last. */
  const due = (number: number, after_ms: number) => {
    now_ms += after_ms
    return pace(number)
  }
  assert.equal(due(100, 0), 2_950, 'nothing is known yet')
  assert.equal(due(100, 2_000), 950)
  assert.equal(due(101, 1_000), 2_950)
  assert.equal(due(101, 2_950), 0, 'it is not there yet')
  assert.equal(due(102, 250), 2_950, 'never later than a block')
  assert.equal(due(105, 9_000), 2_950)
  assert.equal(due(104, 1_000), 2_950, 'a fork')
  assert.equal(due(114, 2_000), 150, 'blocks come faster')
  assert.equal(due(124, 2_000), 150)
  assert.ok(due(124, 60_000) < 0, 'it stands still')
})

test('while something of ours waits for a block the next one is looked for at once', async (t) => {
  const one = await bench(t)
  const step = followStep(one.needs)
  const rest = async () => {
    while (await step.run()) {}
    return step.rest_now_ms?.()
  }
  assert.equal(await rest(), 2_950)
  const contract = JSON.stringify({ type: 'TransferContract' })
  await one.sql`
    insert into attempt (id, subject, contract, state, tx_id, signed, expires_at, made_at, send_at)
    values ('a', 'test:1', ${contract}, 'sent', ${'ab'.repeat(32)}, '\\x00', '2099-01-01', now(),
      now())`
  assert.equal(await rest(), 250)
  await one.sql`delete from attempt`
  assert.equal(await rest(), 2_950)
})
