import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mostInOneSecond, standingTime } from 'penstock-test/harness/standing_time.ts'
import { TooManyRequests } from '../../lib/fault.ts'
import { NodeBusy } from '../node/answers.ts'
import {
  type LaneLimits,
  type Reader,
  type ReadLimits,
  readBudget,
  readLimits,
} from './read_budget.ts'

const settle = async () => {
  for (let i = 0; i < 20; i++) await Promise.resolve()
}

const LIMITS: LaneLimits = {
  per_second: 300,
  per_second_of_one: 50,
  at_once: 100,
  at_once_of_one: 100,
}
const reader = (name: string, customer_id = name): Reader => ({
  name,
  customer_id,
  lane: 'purchases',
  wait_ms: 2_000,
})
const lookUp = (name: string): Reader => ({ ...reader(name), lane: 'look_ups' })
const [anna, ben] = [reader('anna'), reader('ben')]

/** A budget, and when it let what through. */
function budgetAt(given: Partial<LaneLimits> = {}) {
  const limits = { ...LIMITS, ...given }
  const { per_second } = limits
  return budgetOf({ per_second, purchases: limits, look_ups: limits })
}

function budgetOf(limits: ReadLimits) {
  const time = standingTime(settle)
  const budget = readBudget(limits, time.timer)
  const asked: { who: string; at_ms: number }[] = []
  const refused: string[] = []
  const ask = (reader: Reader, weight = 1, answer: Promise<void> = Promise.resolve()) => {
    const asking = async () => {
      asked.push({ who: reader.name, at_ms: time.timer.now_ms() })
      await answer
    }
    return budget.spend(reader, weight, asking).catch((thrown: unknown) => {
      if (!(thrown instanceof TooManyRequests)) throw thrown
      refused.push(reader.name)
    })
  }
  const of = (who: string) => asked.filter((one) => one.who === who)
  return { time, pass: time.pass, settle, budget, asked, refused, ask, of }
}

test('no reader is asked for more in a second than its share, however hard it tries', async () => {
  const { ask, asked, pass, refused } = budgetAt()
  for (let round = 0; round < 50; round++) {
    for (let i = 0; i < 12; i++) void ask(anna)
    await pass(100)
  }
  assert.ok(asked.length > 180, String(asked.length))
  assert.ok(
    mostInOneSecond(asked.map(({ at_ms }) => at_ms)) <= 50,
    String(mostInOneSecond(asked.map(({ at_ms }) => at_ms))),
  )
  assert.ok(refused.length > 0)
})

test('a reader within its share waits for nothing', async () => {
  const { ask, asked, pass, settle } = budgetAt()
  for (let call = 0; call < 20; call++) {
    for (let i = 0; i < 3; i++) void ask(anna)
    await settle()
    assert.equal(asked.length, 3 * (call + 1))
    await pass(100)
  }
})

test('what is short of its share waits for its turn, and is refused after its time', async () => {
  const { ask, asked, refused, pass, settle } = budgetAt()
  for (let i = 0; i < 80; i++) void ask(anna)
  await settle()
  assert.equal(asked.length, 50)
  await pass(1_050)
  assert.deepEqual([asked.length, refused.length], [80, 0])
  for (let i = 0; i < 500; i++) void ask(anna)
  await settle()
  assert.ok(refused.length > 370, 'more than can be asked in that time is refused at once')
  await pass(2_001)
  assert.equal(asked.length + refused.length, 580)
  await pass(2_000)
  void ask({ ...anna, wait_ms: 0 })
  await settle()
  assert.equal(asked.length + refused.length, 581)
})

test('many readers together ask no more than all may, and each gets its turn', async () => {
  const { ask, asked, of, pass } = budgetAt({ per_second: 40 })
  const greedy = Array.from({ length: 5 }, (_, i) => reader(`greedy ${i}`))
  for (let round = 0; round < 50; round++) {
    for (const reader of greedy) for (let i = 0; i < 10; i++) void ask(reader)
    if (round % 10 === 0) void ask(ben)
    await pass(100)
  }
  assert.ok(
    mostInOneSecond(asked.map(({ at_ms }) => at_ms)) <= 40,
    String(mostInOneSecond(asked.map(({ at_ms }) => at_ms))),
  )
  assert.equal(of('ben').length, 5)
  const counts = greedy.map(({ name }) => of(name).length)
  // The first have the benefit of what could be asked at once.
  assert.ok(Math.min(...counts) >= 0.7 * Math.max(...counts), counts.join(' '))
})

test('a slow answer holds one place, and one reader never holds all of them', async () => {
  const { ask, of, settle, pass } = budgetAt({ at_once: 10, at_once_of_one: 4 })
  const never = new Promise<void>(() => {})
  for (let i = 0; i < 20; i++) void ask(anna, 1, never)
  await settle()
  await pass(1_000)
  assert.equal(of('anna').length, 4)
  for (let i = 0; i < 10; i++) void ask(ben)
  await settle()
  await pass(500)
  assert.equal(of('ben').length, 10)
})

test('the keys of a customer share what it has, and take turns', async () => {
  const { ask, asked, of, pass } = budgetAt({ per_second_of_one: 10 })
  const [stolen, own] = [reader('stolen', 'anna'), reader('own', 'anna')]
  for (let i = 0; i < 30; i++) void ask(stolen)
  for (let i = 0; i < 5; i++) void ask(own)
  await pass(1_100)
  assert.ok(mostInOneSecond(asked.map(({ at_ms }) => at_ms)) <= 10)
  assert.equal(of('own').length, 5)
})

test('an answer lets the next one go at once, and a failure does too', async () => {
  const { budget, ask, asked, settle } = budgetAt({ at_once: 1 })
  const first = Promise.withResolvers<void>()
  const failed = budget.spend(anna, 1, () => first.promise)
  void ask(ben)
  await settle()
  assert.equal(asked.length, 0)
  first.reject(new Error('the node'))
  await assert.rejects(failed, /the node/)
  await settle()
  assert.equal(asked.length, 1)
})

test('what weighs more than is left goes, and its successors wait for it', async () => {
  const { ask, asked, pass, settle } = budgetAt()
  for (let i = 0; i < 6; i++) void ask(anna, 2)
  await settle()
  assert.equal(asked.length, 6)
  for (let i = 0; i < 20; i++) void ask(anna, 2)
  await pass(1_000)
  assert.ok(asked.length <= 6 + 20 && asked.length >= 23, String(asked.length))
})

test('a purchase never waits behind look-ups, nor behind those of the same customer', async () => {
  for (const per_second of [3_000, 15]) {
    const { ask, of, asked, pass, settle } = budgetOf(readLimits(per_second))
    const never = new Promise<void>(() => {})
    for (let i = 0; i < 2_000; i++) void ask({ ...lookUp('look'), customer_id: 'anna' })
    for (let i = 0; i < 20; i++) void ask({ ...lookUp('slow'), customer_id: 'anna' }, 1, never)
    await settle()
    const before = asked.length
    for (let i = 0; i < 5; i++) void ask(reader('buy', 'anna'))
    await settle()
    assert.equal(of('buy').length, 5, `${before} look-ups had gone`)
    for (let i = 0; i < 20; i++) {
      void ask(reader('buy', 'anna'))
      await pass(100, 20)
    }
    const waited = of('buy')
      .slice(5)
      .map(({ at_ms }, i) => at_ms - 100 * i)
    assert.ok(Math.max(...waited) <= 600, waited.join(' '))
    assert.ok(of('look').length > 0)
  }
})

/** A node that answers so many requests in any second, and counts those that it does not. */
function strictNode(now_ms: () => number, allowed: number) {
  const answered: number[] = []
  const node = { allowed, answered, refused: 0 }
  const question = async () => {
    if (answered.filter((at_ms) => at_ms > now_ms() - 1_000).length >= node.allowed) {
      node.refused += 1
      throw new NodeBusy('the node')
    }
    answered.push(now_ms())
  }
  return { node, question }
}

test('questions of two requests each do not halve the pace when one is refused', async () => {
  const { budget, pass } = budgetOf(readLimits(3_000))
  let [asked, is_busy] = [0, false]
  const ask = () =>
    void budget
      .spend({ ...reader('look', 'anna'), wait_ms: 3_000 }, 2, async () => {
        if (is_busy) throw new NodeBusy('the node')
        asked += 2
      })
      .catch(() => {})
  for (let i = 0; i < 50; i++) ask()
  await pass(500, 10)
  assert.equal(asked, 100)
  is_busy = true
  ask()
  await pass(20, 10)
  is_busy = false
  await pass(2_000, 10)
  asked = 0
  for (let i = 0; i < 200; i++) ask()
  await pass(1_000, 10)
  assert.ok(asked >= 80, `${asked} in the second after, where 100 were answered in one`)
})

test('a node that refuses sets the pace, and what it refused is asked again', async () => {
  const { budget, time, pass } = budgetOf(readLimits(3_000))
  const { node, question } = strictNode(time.timer.now_ms, 15)
  const took_ms: number[] = []
  let refused = 0
  const buy = (wait_ms = 1_000) => {
    const began_ms = time.timer.now_ms()
    void budget.spend({ ...reader('buy', 'anna'), wait_ms }, 1, question).then(
      () => took_ms.push(time.timer.now_ms() - began_ms),
      () => (refused += 1),
    )
  }
  // Far more than it allows: it is found out within seconds, and then hardly tried.
  for (let tick = 0; tick < 200; tick++) {
    for (let i = 0; i < 5; i++) buy()
    await pass(100, 20)
  }
  assert.ok(refused > 0 && took_ms.every((ms) => ms <= 1_000))
  const learned = node.refused
  for (let tick = 0; tick < 100; tick++) {
    for (let i = 0; i < 5; i++) buy()
    await pass(100, 20)
  }
  assert.ok(node.refused - learned <= 60, `${node.refused - learned} of 500 refused by the node`)
  assert.ok(node.answered.length > 30 * 9, `${node.answered.length} in 30 s`)
  // What it allows goes through, all of it, and soon.
  await pass(2_000, 20)
  took_ms.length = refused = 0
  for (let tick = 0; tick < 200; tick++) {
    buy()
    await pass(100, 20)
  }
  await pass(1_000, 20)
  took_ms.sort((a, b) => a - b)
  assert.deepEqual([took_ms.length, refused], [200, 0])
  assert.ok(took_ms[198]! < 1_000, `p99 ${took_ms[198]} ms`)
})

test('at a node that the worker asks too, purchases and their broadcasts fit in', async () => {
  const { budget, time, pass } = budgetOf(readLimits(3_000))
  const { question } = strictNode(time.timer.now_ms, 15)
  const took_ms: number[] = []
  const own = { asked: 0, refused: 0 }
  const ask = async () => {
    own.asked += 1
    await question().catch(() => {
      own.refused += 1
    })
  }
  const buy = (is_followed: boolean) => {
    const began_ms = time.timer.now_ms()
    void budget.spend({ ...reader('buy', 'anna'), wait_ms: 1_000 }, 1, question).then(
      () => {
        took_ms.push(time.timer.now_ms() - began_ms)
        if (is_followed) void ask()
      },
      () => took_ms.push(Number.POSITIVE_INFINITY),
    )
  }
  // The worker looks three times a second, whatever customers do. Of what they ask too much, the
  // node refuses it some, and no more than that.
  for (let tick = 0; tick < 200; tick++) {
    if (tick === 50) Object.assign(own, { asked: 0, refused: 0 })
    if (tick % 3 === 0) await ask()
    for (let i = 0; i < 10; i++) buy(false)
    await pass(100, 20)
  }
  assert.ok(own.refused <= 0.2 * own.asked, `${own.refused} of ${own.asked}`)
  await pass(5_000, 20)
  Object.assign(own, { asked: 0, refused: 0 })
  took_ms.length = 0
  // Each second five purchases, each with its broadcast.
  for (let tick = 0; tick < 400; tick++) {
    if (tick % 3 === 0) await ask()
    if (tick % 2 === 0) buy(true)
    await pass(100, 20)
  }
  await pass(1_000, 20)
  took_ms.sort((a, b) => a - b)
  assert.equal(took_ms.length, 200)
  assert.ok(took_ms[198]! <= 1_000, took_ms.slice(-10).join(' '))
  assert.ok(own.refused <= 0.03 * own.asked, `${own.refused} of ${own.asked}`)
})

test('look-ups at a node that refuses leave purchases their part', async () => {
  const { budget, time, pass } = budgetOf(readLimits(3_000))
  const { question } = strictNode(time.timer.now_ms, 15)
  const took_ms: number[] = []
  for (let tick = 0; tick < 300; tick++) {
    for (let i = 0; i < 10; i++)
      void budget.spend({ ...lookUp('look'), customer_id: 'anna' }, 1, question).catch(() => {})
    if (tick >= 50 && tick % 2 === 0) {
      const began_ms = time.timer.now_ms()
      const bought = budget.spend(reader('buy', 'anna'), 1, question)
      void bought.then(
        () => took_ms.push(time.timer.now_ms() - began_ms),
        () => took_ms.push(Number.POSITIVE_INFINITY),
      )
    }
    await pass(100, 20)
  }
  await pass(2_000, 20)
  took_ms.sort((a, b) => a - b)
  assert.equal(took_ms.length, 125)
  assert.ok(took_ms[123]! <= 1_000, took_ms.slice(-10).join(' '))
})

test('a node that allows more again is asked more again', async () => {
  const { budget, time, pass } = budgetOf(readLimits(300))
  const { node, question } = strictNode(time.timer.now_ms, 15)
  const ask = () => budget.spend(reader('buy', 'anna'), 1, question).catch(() => {})
  for (let tick = 0; tick < 100; tick++) {
    for (let i = 0; i < 5; i++) void ask()
    await pass(100, 20)
  }
  node.allowed = 1_000
  const before = node.answered.length
  for (let tick = 0; tick < 400; tick++) {
    for (let i = 0; i < 10; i++) void ask()
    await pass(100, 20)
  }
  const last = node.answered.slice(before).filter((at_ms) => at_ms > time.timer.now_ms() - 5_000)
  assert.ok(last.length > 400, `${last.length} of 500 in the last five seconds`)
})

test('as many wait as can be asked in that time, and one more', async () => {
  const { ask, asked, refused, pass, settle } = budgetAt({ per_second_of_one: 10 })
  const short = { ...anna, wait_ms: 1_000 }
  for (let i = 0; i < 11; i++) void ask(short)
  await pass(20)
  for (let i = 0; i < 12; i++) void ask(short)
  await settle()
  assert.deepEqual([asked.length, refused.length], [10, 2])
})

test('what a node has refused goes before what the reader has asked since', async () => {
  const { ask, budget, time, pass, settle } = budgetAt({ at_once_of_one: 1 })
  for (let i = 0; i < 20; i++) void ask(ben)
  await pass(2_000, 10)
  const asked: [string, number][] = []
  let refuses = true
  for (const what of ['first', 'second'])
    void budget.spend(anna, 1, async () => {
      asked.push([what, time.timer.now_ms()])
      if (refuses) throw new NodeBusy('the node')
    })
  await settle()
  await pass(50)
  refuses = false
  await pass(1_000)
  assert.deepEqual(
    asked.map(([what]) => what),
    ['first', 'first', 'second'],
  )
  assert.deepEqual(asked[1], ['first', 2_100])
})

test('what waited too long is refused when a place is free, and not asked', async () => {
  const { ask, asked, refused, pass, settle } = budgetAt({ at_once: 1 })
  const place = Promise.withResolvers<void>()
  void ask(anna, 1, place.promise)
  void ask({ ...ben, wait_ms: 5 })
  await pass(5, 5)
  assert.deepEqual(refused, [])
  place.resolve()
  await settle()
  assert.deepEqual([asked.length, refused], [1, ['ben']])
})

test('one look at a time is planned, and none when no request waits', async () => {
  const waits: number[] = []
  const timer = {
    now_ms: () => 0,
    wait: (ms: number) => {
      waits.push(ms)
      return new Promise(() => {})
    },
  }
  const limits = { ...LIMITS, per_second_of_one: 1 }
  const budget = readBudget({ per_second: 300, purchases: limits, look_ups: limits }, timer)
  await budget.spend(anna, 1, async () => {})
  assert.deepEqual(waits, [])
  for (let i = 0; i < 3; i++) void budget.spend(anna, 1, async () => {})
  await settle()
  assert.deepEqual(waits, [10])
})

test('the pace does not grow while no request waits for it', async () => {
  const { budget, ask, asked, pass, settle } = budgetOf(readLimits(300))
  for (let i = 0; i < 20; i++) void ask(anna)
  await settle()
  const refused = budget.spend({ ...anna, wait_ms: 50 }, 1, async () => {
    throw new NodeBusy('the node')
  })
  void assert.rejects(refused, TooManyRequests)
  await pass(2_000, 50)
  for (let second = 0; second < 12; second++) {
    await pass(1_000, 50)
    void ask(anna)
  }
  await pass(2_000, 50)
  asked.length = 0
  for (let i = 0; i < 60; i++) void ask(anna)
  await settle()
  assert.equal(asked.length, 19, 'nine tenths of 20, and one more because requests wait now')
})

/** A thousand other customers ask, as many as are remembered before some are forgotten. */
function manyAsk(ask: ReturnType<typeof budgetAt>['ask']) {
  for (let i = 0; i < 1_000; i++) void ask(reader(`other ${i}`))
}

test('a customer keeps its share while it is in use, however many others come', async (t) => {
  await t.test('while an answer is under way', async () => {
    const limits = { per_second: 3_000, at_once: 2_000, at_once_of_one: 1 }
    const { ask, of, pass, settle } = budgetAt(limits)
    void ask(anna, 1, new Promise<void>(() => {}))
    await pass(2_000, 100)
    manyAsk(ask)
    void ask(anna)
    await settle()
    assert.equal(of('anna').length, 1)
  })
  await t.test('while a request waits', async () => {
    const limits = { per_second: 3_000, at_once: 1, per_second_of_one: 1 }
    const { ask, of, settle } = budgetAt(limits)
    const place = Promise.withResolvers<void>()
    void ask(ben, 1, place.promise)
    void ask(anna)
    manyAsk(ask)
    void ask(anna)
    place.resolve()
    for (let i = 0; i < 1_000; i++) await settle()
    assert.deepEqual([of('other 999').length, of('anna').length], [1, 1])
  })
  await t.test('while it has used up its second', async () => {
    const limits = { per_second: 3_000, at_once: 2_000, per_second_of_one: 1 }
    const { ask, of, settle } = budgetAt(limits)
    void ask(anna)
    await settle()
    manyAsk(ask)
    void ask(anna)
    await settle()
    assert.equal(of('anna').length, 1)
  })
})
