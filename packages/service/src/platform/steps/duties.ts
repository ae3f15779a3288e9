// What only one process need do is a duty: its steps would ask the node, or the database, the same
// things again in every worker. One process at a time holds it, by a row and the clock of the
// database: it says so every two seconds, and when it has not for five, another takes it.
//
// Nothing is right because of a duty. Each step of one is safe beside itself, by the locks and
// fences that its rows have: two holders, or one that has not heard yet that it is none any more,
// do some work in vain.

import { type Clock, later } from '../../lib/clock.ts'
import type { Sql } from '../database/sql.ts'
import { DUTIES, type Duty, type Step, wakesOf } from './step.ts'

/** A holder says so this often, and who is none asks whether a duty is free. */
const ASK_MS = 2_000
/** So long after it last said so, a holder is none any more. */
const TERM_MS = 5_000

type Needs = {
  sql: Sql
  /** Goes as the database's does. */
  clock: Clock
  /** Names this process among all. */
  process_id: string
  /** Wakes a step in the other processes. */
  wakeOthers: (step: string) => void
}

export type Duties = {
  /** The steps of this process; those of a duty run only while it holds that. The first of them
   *  takes duties that are free. */
  steps: Step<string>[]
  /** Takes duties that are free, and keeps those that it has. True when it has one more. */
  hold(): Promise<boolean>
  /** Whether a step is left to other processes at the moment. */
  isElsewhere(step: string): boolean
  /** So that another need not wait until they are over. */
  giveBack(): Promise<void>
}

/** `steps`: of the service; `runsHere`: whether this process runs one. */
export function holdDuties(
  { sql, clock, process_id, wakeOthers }: Needs,
  steps: readonly Step<string>[],
  runsHere: (step: Step<string>) => boolean,
): Duties {
  let held_until = new Map<string, Date>()
  const holds = (duty: Duty) => (held_until.get(duty) ?? new Date(0)) > clock.now()
  const here = new Map(steps.filter(runsHere).map((step) => [step.name, step]))
  const of_duties = [...here.values()].filter(({ duty }) => duty)
  const duties = DUTIES.filter((duty) => of_duties.some((step) => step.duty === duty))
  const isElsewhere = (name: string) => {
    const step = here.get(name)
    return !step || (step.duty !== undefined && !holds(step.duty))
  }
  const wakes = wakesOf(steps)

  async function hold(): Promise<boolean> {
    const before = duties.filter(holds)
    const until = later(clock, TERM_MS)
    const rows = await takeDuties(sql, duties, { process_id, now: clock.now(), until })
    held_until = new Map(rows.map(({ name }) => [name, until]))
    return rows.some(({ name }) => !before.includes(name))
  }
  const limited = (step: Step<string>): Step<string> => ({
    ...step,
    async run() {
      if (step.duty && !holds(step.duty)) return false
      const moved = await step.run()
      if (moved)
        for (const name of wakes.get(step.name) ?? []) if (isElsewhere(name)) wakeOthers(name)
      return moved
    },
  })
  const holding: Step<string> = {
    name: 'hold_duties',
    rest_ms: ASK_MS,
    before: of_duties.map(({ name }) => name),
    run: hold,
  }
  return {
    steps: [holding, ...[...here.values()].map(limited)],
    hold,
    isElsewhere,
    async giveBack() {
      held_until = new Map()
      await sql`
        update duty set until = ${clock.now()} where name in (
          select name from duty where process_id = ${process_id} order by name for update)`
      wakeOthers('hold_duties')
    },
  }
}

type DutyTerm = { process_id: string; now: Date; until: Date }

/** Those that the process holds from now on. What another holds is not even locked. */
function takeDuties(sql: Sql, duties: readonly Duty[], { process_id, now, until }: DutyTerm) {
  return sql<{ name: Duty }>`
    insert into duty (name, process_id, until)
    select wanted, ${process_id}, ${until}::timestamptz from unnest(${duties}::text[]) as wanted
    where not exists (
      select 1 from duty where name = wanted and process_id <> ${process_id} and until > ${now})
    order by wanted
    on conflict (name) do update set process_id = excluded.process_id, until = excluded.until
      where duty.process_id = excluded.process_id or duty.until <= ${now}
    returning name`
}
