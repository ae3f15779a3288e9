// A step moves rows along one arrow of a state machine. In production it is looked at when it is
// woken and, in any case, at least every `rest_ms`, and runs if it is due (due.ts); tests call
// drain(); the simulator calls run() in random order. Waking is a hint and may be lost: what is due
// is in the rows.

import { type Log, thrownFields } from '../../lib/log.ts'
import type { Fragment, WriteFragment } from '../database/fragments.ts'

/** What one process at a time does: to follow the chain, to read its blocks, to clean up. */
export const DUTIES = ['blocks', 'chain', 'upkeep'] as const
export type Duty = (typeof DUTIES)[number]

/** Which of these steps are due. */
export type AskDue = (names: ReadonlySet<string>) => Promise<ReadonlySet<string>>

export const PLATFORM_STEPS = {
  hold_duties: 'Says which duties this process holds, and takes those that are free',
}

/** All steps by their names: each wing adds its own, in its `wing.ts`. */
export interface StepNames extends Record<keyof typeof PLATFORM_STEPS, string> {}
export type StepName = keyof StepNames

export type Step<Name extends string = StepName> = {
  readonly name: Name
  /** The longest time between two looks at whether it is due when nobody wakes it. */
  readonly rest_ms: number
  /** Finds a row whenever a run would change any; it may find one in vain, and is asked often, so
   *  an index answers it. It is planned for any value: of what is older than a time, ask whether
   *  the oldest is. The same template each time, with other values. Left out where that is not in
   *  the database: the step runs at each look. */
  due?(sql: WriteFragment): Fragment
  /** How long it rests after a run that moved nothing; `rest_ms` when left out. */
  rest_now_ms?(): number
  /** The duty that it is part of: it runs in the process that holds it (duties.ts). Left out: in
   *  every worker. */
  readonly duty?: Duty
  /** It needs the screening index of its process, so it runs in processes that have one
   *  (run/program/roles.ts). It is of no duty: whoever holds that may have none. */
  readonly needs_index?: true
  /** Steps that move what this one waits for: it is woken when they have moved something. */
  readonly after?: readonly Name[]
  /** Steps that take up what this one has moved. A step names only steps of its own floor or of
   *  floors below, so one of two that meet names the other: who reads a row, or who asks for it. */
  readonly before?: readonly Name[]
  /** Moves at most one batch. True when something moved: it is run again at once. */
  run(): Promise<boolean>
}

export type StepRunner = {
  /** Runs a step soon. Unknown names are ignored: the step may live in another process. */
  wake(name: string): void
  /** Lets every run under way end, and starts no other. */
  stop(): Promise<void>
}

const alwaysDue: AskDue = async (names) => names

/** When its rest ends: after as long as it may at most, and when others that are asked about have
 *  rested too. On the clock of `performance`. */
function endOfRest({ due, rest_ms, rest_now_ms }: Step<string>): number {
  const now_ms = performance.now()
  if (!due || rest_ms < LOOK_MS) return now_ms + (rest_now_ms?.() ?? rest_ms)
  const look_ms = Math.floor((now_ms + rest_ms) / LOOK_MS) * LOOK_MS
  return look_ms > now_ms ? look_ms : now_ms + LOOK_MS
}

/** For each step, which of the others it wakes when it has moved something. */
export function wakesOf(steps: readonly Step<string>[]): ReadonlyMap<string, ReadonlySet<string>> {
  const names = new Set(steps.map(({ name }) => name))
  const wakes = new Map(
    steps.map(({ name, before = [] }) => [name, new Set(before.filter((one) => names.has(one)))]),
  )
  for (const { name, after } of steps)
    for (const earlier of after ?? []) wakes.get(earlier)?.add(name)
  return wakes
}

const BACK_OFF_MS_MAX = 5_000
/** Steps rest until the beginning of such a part of time, so that they are asked about together. */
const LOOK_MS = 1_000

/** Says of each step whether it is due, of all at once that want to know while others are asked
 *  about. When it cannot be known, they are due: each says for itself what is wrong. */
function askTogether(ask: AskDue, log: Log): (name: string) => Promise<boolean> {
  let waiting: Set<string> | undefined
  let asking: Promise<ReadonlySet<string>> = Promise.resolve(new Set())
  return async (name) => {
    if (!waiting) {
      const names = new Set<string>()
      waiting = names
      asking = asking.then(async () => {
        // Whoever has rested until the same moment is asked about as well. No longer than that: a
        // purchase goes through four steps, and waits for each question.
        await new Promise<void>((resolve) => setImmediate(resolve))
        waiting = undefined
        return ask(names).catch((thrown: unknown) => {
          log('due_unknown', thrownFields(thrown))
          return names
        })
      })
    }
    waiting.add(name)
    return (await asking).has(name)
  }
}

const backOffMs = (failures: number) => Math.min(BACK_OFF_MS_MAX, 50 * 2 ** failures)

/** One timer for all that wait for the same moment, so that they go on together. Timers count whole
 *  milliseconds and round down, so two that end at one moment would ring apart, and too early. */
function wakingClock() {
  const moments = new Map<number, { timer: NodeJS.Timeout; waiting: Set<() => void> }>()
  const momentAt = (until_ms: number) => {
    const waiting = new Set<() => void>()
    const ring = () => {
      moments.delete(until_ms)
      for (const resume of waiting) resume()
    }
    const timer = setTimeout(ring, Math.ceil(until_ms - performance.now()))
    const moment = { timer, waiting }
    moments.set(until_ms, moment)
    return moment
  }
  return {
    /** Calls `resume` then, unless it is cancelled by calling what is returned. */
    at(until_ms: number, resume: () => void): () => void {
      const moment = moments.get(until_ms) ?? momentAt(until_ms)
      moment.waiting.add(resume)
      return () => {
        moment.waiting.delete(resume)
        if (moment.waiting.size > 0) return
        clearTimeout(moment.timer)
        moments.delete(until_ms)
      }
    },
  }
}

/** Runs every step in a loop of its own, when `ask` says that it is due. */
export function startSteps(
  steps: readonly Step<string>[],
  log: Log,
  ask: AskDue = alwaysDue,
): StepRunner {
  let stopping = false
  const isDue = askTogether(ask, log)
  const wakes = wakesOf(steps)
  const bells = new Map<string, () => void>()
  const pending = new Set<string>()

  const clock = wakingClock()

  const rest = (name: string, until_ms: number) =>
    new Promise<void>((resolve) => {
      const cancel = clock.at(until_ms, resolve)
      bells.set(name, () => {
        cancel()
        resolve()
      })
    })
  function wake(name: string) {
    pending.add(name)
    bells.get(name)?.()
  }

  async function loop(step: Step<string>) {
    let failures = 0
    while (!stopping) {
      pending.delete(step.name)
      if (step.due && !(await isDue(step.name))) {
        if (!stopping && !pending.has(step.name)) await rest(step.name, endOfRest(step))
        continue
      }
      if (stopping) break
      const moved = await step.run().then(
        (result) => {
          failures = 0
          return result
        },
        (thrown: unknown) => {
          failures += 1
          log('step_failed', { step: step.name, failures, ...thrownFields(thrown) })
          return false
        },
      )
      if (moved) wakes.get(step.name)?.forEach(wake)
      if (stopping) break
      if (failures > 0) await rest(step.name, performance.now() + backOffMs(failures))
      else if (!moved && !pending.has(step.name)) await rest(step.name, endOfRest(step))
    }
  }

  const loops = steps.map(loop)
  return {
    wake,
    async stop() {
      stopping = true
      for (const bell of bells.values()) bell()
      await Promise.all(loops)
    },
  }
}

/** Looks at the steps that are named, all when left out, runs those that are due, and then again
 *  those that have moved something and those they wake, until none is due. What is woken meanwhile
 *  by others is added to `woken` by them; names that are not among the steps stay there. Throws
 *  what a step throws. */
export async function drain(
  steps: readonly Step<string>[],
  {
    woken = new Set(steps.map(({ name }) => name)),
    rounds_max = 1_000,
    ask = alwaysDue,
  }: { woken?: Set<string>; rounds_max?: number; ask?: AskDue } = {},
): Promise<void> {
  const wakes = wakesOf(steps)
  /** Those that were asked about since they were last woken, and which of them are due. */
  const asked = new Set<string>()
  const due = new Set<string>()
  const askAboutWoken = async () => {
    const names = new Set([...woken].filter((name) => !asked.has(name)))
    for (const name of await ask(names)) due.add(name)
    for (const name of names) asked.add(name)
  }
  for (let round = 0; steps.some(({ name }) => woken.has(name)); round++) {
    if (round === rounds_max) throw new Error(`steps still move after ${rounds_max} rounds`)
    // What is woken is reached in this round when it comes later, else in the next one.
    for (const step of steps) {
      if (!woken.has(step.name)) continue
      if (step.due && !asked.has(step.name)) await askAboutWoken()
      asked.delete(step.name)
      woken.delete(step.name)
      const is_due = due.delete(step.name) || !step.due
      if (!is_due || !(await step.run())) continue
      for (const name of [step.name, ...(wakes.get(step.name) ?? [])]) {
        woken.add(name)
        asked.delete(name)
        due.delete(name)
      }
    }
  }
}

/** Does the work for all rows at once; when that throws, for each row by itself, so that one that
 *  cannot be done now does not stop the others: it is postponed, and the first of what was thrown
 *  is thrown again at the end, for the runner to log. True when anything moved. */
export async function allOrEach<Row>(
  rows: readonly Row[],
  work: (rows: readonly Row[]) => Promise<boolean>,
  postpone: (row: Row) => Promise<unknown>,
): Promise<boolean> {
  if (rows.length === 0) return false
  let together: unknown
  if (rows.length > 1) {
    const moved = await work(rows).catch((thrown: unknown) => {
      together = thrown
    })
    if (moved !== undefined) return moved
  }
  const moved = await eachRow(rows, (row) => work([row]), postpone)
  // Each went alone, but not all together: nothing is lost, and somebody should know.
  if (together !== undefined) throw together
  return moved
}

/** Does the work for each row by itself, so that one that cannot be done now does not stop the
 *  others: it is postponed, and the first of what was thrown is thrown again at the end, for the
 *  runner to log. True when any row moved. When `moved_max` of them have moved it leaves the rest
 *  for the next run, which is at once unless the process stops. */
export async function eachRow<Row>(
  rows: readonly Row[],
  work: (row: Row) => Promise<boolean>,
  postpone: (row: Row) => Promise<unknown>,
  moved_max = rows.length,
): Promise<boolean> {
  let moved = 0
  const thrown: unknown[] = []
  for (const row of rows) {
    try {
      if (await work(row)) moved += 1
    } catch (error) {
      thrown.push(error)
      await postpone(row)
    }
    if (moved === moved_max) break
  }
  if (thrown.length > 0) throw thrown[0]
  return moved > 0
}
