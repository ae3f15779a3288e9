// The service's database as the simulator sees it: real statements on real connections, each of
// which waits at the gate. The connections are shared by all instances: what dies with an instance
// is its transactions.

import type { Query, Sql, Tx } from 'penstock-service/database/sql.ts'
import { Outage } from 'penstock-service/lib/fault.ts'
import type { Gate, Life } from './gate.ts'

const lost = () =>
  new Outage('the database', { cause: new Error('simulated: Connection terminated unexpectedly') })

/** The first words of a statement and the tables it names: what a trace needs. */
function labelOf(strings: TemplateStringsArray): string {
  const known = labels.get(strings) ?? strings.join('?').replace(/\s+/g, ' ').trim().slice(0, 100)
  labels.set(strings, known)
  return known
}

const labels = new WeakMap<TemplateStringsArray, string>()

export function heldSql(real: Sql, gate: Gate, life: Life): Sql {
  const query = <R extends object>(
    strings: TemplateStringsArray,
    ...values: unknown[]
  ): Promise<R[]> => {
    const act = () => real<R>(strings, ...values)
    if (gate.open) return gate.inTurn(act)
    return gate.pass(life, { kind: 'statement', label: labelOf(strings), inside: false, lost }, act)
  }
  const begin = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
    gate.open ? gate.inTurn(() => real.begin(work)) : new Transaction<T>(real, gate, life).run(work)
  return Object.assign(query, { begin, close: async () => {} })
}

/** One transaction: the real one is open for as long as `ending` has not been told how it ends. */
class Transaction<T> {
  private readonly gate: Gate
  private readonly life: Life
  private readonly real: Sql
  private end: (ending: () => T) => void = () => {}
  private settled: Promise<T> | undefined
  private running: Promise<unknown> | undefined
  private broken = false
  /** Every statement, and the one that the next waits for. */
  private readonly sent: Promise<unknown>[] = []
  private last: Promise<unknown> = Promise.resolve()

  constructor(real: Sql, gate: Gate, life: Life) {
    this.real = real
    this.gate = gate
    this.life = life
  }

  async run(work: (tx: Tx) => Promise<T>): Promise<T> {
    const called_off = this.life.onDeath(() => {
      // The server notices that the connection is gone when the statement under way is done.
      if (this.running) this.running.then(this.abandon, this.abandon)
      else this.abandon()
    })
    try {
      const tx = await this.open()
      const result = await this.work(work, tx)
      const commit = { kind: 'commit' as const, label: 'commit', inside: true, lost }
      return await this.gate.pass(this.life, commit, () => this.finish(() => result))
    } catch (thrown) {
      this.abandon()
      throw thrown
    } finally {
      called_off()
    }
  }

  /** Begins for real; the transaction then waits for `end`. */
  private async open(): Promise<Tx> {
    const { gate, life } = this
    let real_tx: Tx | undefined
    await gate.pass(life, { kind: 'begin', label: 'begin', inside: false, lost }, () => {
      return new Promise<void>((resolve, reject) => {
        const ending = new Promise<() => T>((tell) => {
          this.end = tell
        })
        this.settled = this.real.begin(async (tx) => {
          real_tx = tx
          gate.transactions += 1
          resolve()
          return (await ending)()
        })
        this.settled.catch(reject).finally(() => {
          if (real_tx) gate.transactions -= 1
        })
      })
    })
    const pass = <R extends object>(
      strings: TemplateStringsArray,
      values: unknown[],
    ): Promise<R[]> => {
      if (this.broken) return Promise.reject(lost())
      const statement = {
        kind: 'statement' as const,
        label: labelOf(strings),
        inside: true,
        lost: () => this.lose(),
      }
      return gate.pass(life, statement, () => {
        const running = real_tx!<R>(strings, ...values)
        this.running = running
        const done = () => {
          if (this.running === running) this.running = undefined
        }
        running.then(done, done)
        return running
      })
    }
    // Statements that are on their way together still happen one after the other.
    const query: Query = <R extends object>(
      strings: TemplateStringsArray,
      ...values: unknown[]
    ): Promise<R[]> => {
      const passed = this.last.then(() => pass<R>(strings, values))
      this.last = passed.catch(() => {})
      this.sent.push(passed)
      return passed
    }
    const send: Tx['send'] = (strings, ...values) => void query(strings, ...values)
    return Object.assign(query, { send })
  }

  private async work(work: (tx: Tx) => Promise<T>, tx: Tx): Promise<T> {
    try {
      const result = await work(tx)
      await Promise.all(this.sent)
      return result
    } catch (thrown) {
      // What is on its way arrives before the rollback does.
      await this.last
      const rollback = { kind: 'rollback' as const, label: 'rollback', inside: true, lost }
      return this.gate.pass(this.life, rollback, () =>
        this.finish(() => {
          throw thrown
        }),
      )
    }
  }

  /** A connection that is lost takes its transaction with it. */
  private lose(): Error {
    this.broken = true
    return lost()
  }

  private finish(ending: () => T): Promise<T> {
    this.end(ending)
    return this.settled!
  }

  /** Rolls back for nobody. Nothing happens when the end is known already. */
  private readonly abandon = (): void => {
    if (!this.settled) return
    this.end(() => {
      throw lost()
    })
    this.gate.trail(this.settled)
  }
}
