// The amounts that the signers of all machines sign within an hour and a day: a row for each
// signature, written before it is made, under a lock of them all. A signature that was never made
// after that, because its process died, counts as well. It is a second bound beside each process's
// own file (signature_log.ts): rows that lie can stop signing, and loosen nothing that file bounds.

import { type Clock, later } from '../../lib/clock.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import { KEPT_MS, type SignatureRecord } from './signature_log.ts'
import { DAY_MS, SignedSums } from './signing_limits.ts'

/** How long another process has to store what it has counted. After that it has died, and the
 *  attempt is signed, and counted, by whoever comes first. */
const STORED_MS = 5_000
const FORGOTTEN_AT_ONCE = 5_000

type Needs = { sql: Sql; clock: Clock }
type Row = Pick<SignatureRecord, 'attempt' | 'type' | 'wallet' | 'sun'> & {
  number: bigint
  at: Date
}

export class SigningAmounts {
  private readonly needs: Needs
  private readonly sums = new SignedSums()
  /** The attempts that were counted a moment ago, and when. */
  private readonly recent = new Map<string, number>()
  /** The last row that the sums have; undefined before the first look. */
  private last: bigint | undefined

  constructor(needs: Needs) {
    this.needs = needs
  }

  /** Counts the signatures that `judge` lets through by the sums of all machines. `judge` adds them
   *  to these sums, so that the next one of a batch meets them. Two round trips, whatever the size
   *  of the batch. Throws Outage when the database does not answer: rows that are there all the
   *  same are read at the next call. */
  async count(
    judge: (sums: SignedSums, isUnderWay: (attempt: string) => boolean) => SignatureRecord[],
  ): Promise<void> {
    let counted: readonly SignatureRecord[] = []
    const counting = this.needs.sql.begin(async (tx) => {
      tx.send`select pg_advisory_xact_lock(720461515)`
      const now_ms = this.needs.clock.now().getTime()
      await this.read(tx, now_ms)
      counted = judge(this.sums, (attempt) => this.recent.has(attempt))
      if (counted.length > 0) insert(tx, counted)
    })
    // They are read back as rows, if that is what they have become.
    await counting.finally(() => {
      for (const one of counted) this.sums.remove(one)
    })
  }

  /** Adds the rows since the last look. The lock lets no other signer count meanwhile, so they come
   *  in the order of their numbers. */
  private async read(tx: Tx, now_ms: number): Promise<void> {
    this.last ??= await this.readFirst(tx, now_ms)
    const rows = await tx<Row>`
      select number, attempt, type, wallet, sun, at from signing_amount
      where number > ${this.last} order by number`
    for (const [attempt, at] of this.recent)
      if (at <= now_ms - STORED_MS) this.recent.delete(attempt)
    for (const { number, at, ...row } of rows) {
      this.last = number
      // From a clock that is ahead it counts from now on.
      const counted_at = Math.min(at.getTime(), now_ms)
      this.sums.add({ ...row, at: counted_at })
      if (counted_at > now_ms - STORED_MS) this.recent.set(row.attempt, counted_at)
    }
  }

  /** Adds the last day, by minutes, but for the last seconds; returns the last row of it. */
  private async readFirst(tx: Tx, now_ms: number): Promise<bigint> {
    const [last] = await tx<{ number: bigint }>`
      select coalesce(max(number), 0) as number from signing_amount
      where at <= ${new Date(now_ms - STORED_MS)}`
    const minutes = await tx<Omit<Row, 'number' | 'attempt'> & { signatures: bigint }>`
      select type, wallet, sum(sun)::bigint as sun, count(*) as signatures, max(at) as at
      from signing_amount where number <= ${last!.number} and at > ${new Date(now_ms - DAY_MS)}
      group by type, wallet, date_trunc('minute', at)`
    for (const { at, ...minute } of minutes)
      this.sums.add({ ...minute, at: Math.min(at.getTime(), now_ms) })
    return last!.number
  }
}

function insert(tx: Tx, counted: readonly SignatureRecord[]): void {
  tx.send`
    insert into signing_amount (attempt, type, wallet, sun, at)
    select * from unnest(${counted.map(({ attempt }) => attempt)}::text[],
      ${counted.map(({ type }) => type)}::text[], ${counted.map(({ wallet }) => wallet)}::text[],
      ${counted.map(({ sun }) => sun)}::bigint[],
      ${counted.map(({ at }) => new Date(at))}::timestamptz[])`
}

/** Forgets amounts that no limit looks at any more. */
export function forgetAmountsStep({ sql, clock }: Needs): Step {
  const before = () => later(clock, -KEPT_MS)
  return {
    name: 'forget_amounts',
    rest_ms: 600_000,
    duty: 'upkeep',
    due: (sql) => sql`select where (select min(at) from signing_amount) < ${before()}`,
    async run() {
      const gone = await sql`
        delete from signing_amount where number in (
          select number from signing_amount where at < ${before()}
          order by at limit ${FORGOTTEN_AT_ONCE})
        returning number`
      return gone.length > 0
    },
  }
}
