// The service's database as the simulator sees it: real statements on real connections, each of
// which waits at the gate. The connections are shared by all instances: what dies with an instance
// is its transactions.

import { Outage } from 'penstock-service/lib/fault.ts'
import {
  asOutage,
  isOwnRefusal,
  isUnreplicated,
} from 'penstock-service/platform/database/outages.ts'
import type { Query, Sql, Tx } from 'penstock-service/platform/database/sql.ts'
import pg from 'pg'
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

/** What a server says of a commit that stands on its own disk alone, as PostgreSQL does. */
const ALONE = { routine: 'SyncRepWaitForLSN' }

/** What the driver makes of a commit that was answered with that. */
function requireReplicated(): void {
  if (isUnreplicated(ALONE)) throw lost()
}

/** A server that was the primary is a standby now: it refuses what writes, in the words of
 *  PostgreSQL. */
function refusedByStandby(): Error {
  const refused = new pg.DatabaseError('cannot execute in a read-only transaction', 0, 'error')
  refused.code = '25006'
  return refused
}

const writes = ([first = '']: TemplateStringsArray) => !/^\s*select\b/i.test(first)

/** The connections of one process. */
export class Connections {
  /** Transactions that are open. */
  readonly open = new Set<{ cut(): void }>()
  /** So many of them still lead to a server that is no primary any more. */
  private misled = 0

  /** Another server has taken over: what was open is gone, and one connection, of which nobody has
   *  noticed it, leads to the old one. */
  loseServer(): void {
    for (const one of this.open) one.cut()
    this.misled = 1
  }

  /** Everybody is at the right server. */
  settle(): void {
    this.misled = 0
  }

  /** Throws what a process throws that writes by a connection to a standby. Such a connection is
   *  kept only when the service takes it for good. */
  meetServer(strings: TemplateStringsArray): void {
    if (this.misled === 0 || !writes(strings)) return
    try {
      asOutage(refusedByStandby())
    } catch (thrown) {
      if (!isOwnRefusal(thrown)) this.misled -= 1
      throw thrown
    }
  }
}

export function heldSql(real: Sql, gate: Gate, life: Life, connections: Connections): Sql {
  const query = <R extends object>(
    strings: TemplateStringsArray,
    ...values: unknown[]
  ): Promise<R[]> => {
    const act = async () => {
      connections.meetServer(strings)
      return real<R>(strings, ...values)
    }
    if (gate.open) return gate.inTurn(act)
    const lose = async () => {
      const rows = await undone(real, (tx) => tx<R>(strings, ...values))
      requireReplicated()
      return rows
    }
    const what = { kind: 'statement' as const, label: labelOf(strings), inside: false, lost }
    return gate.pass(life, what, act, lose)
  }
  const begin = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => {
    if (gate.open) return gate.inTurn(() => real.begin(work))
    return new Transaction<T>(real, gate, { life, connections }).run(work)
  }
  return Object.assign(query, { begin, close: async () => {} })
}

class Undone extends Error {}

/** Does it and takes it back: what it gave. */
async function undone<T>(real: Sql, work: (tx: Tx) => Promise<T>): Promise<T> {
  let given: { value: T } | undefined
  await real
    .begin(async (tx) => {
      given = { value: await work(tx) }
      throw new Undone()
    })
    .catch((thrown: unknown) => {
      if (!(thrown instanceof Undone)) throw thrown
    })
  return given!.value
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

  private readonly connections: Connections

  constructor(
    real: Sql,
    gate: Gate,
    { life, connections }: { life: Life; connections: Connections },
  ) {
    this.real = real
    this.gate = gate
    this.life = life
    this.connections = connections
  }

  /** Its server is gone, and with it what it has done. */
  cut(): void {
    this.broken = true
    if (this.running) this.running.then(this.abandon, this.abandon)
    else this.abandon()
  }

  async run(work: (tx: Tx) => Promise<T>): Promise<T> {
    const called_off = this.life.onDeath(() => {
      // The server notices that the connection is gone when the statement under way is done.
      if (this.running) this.running.then(this.abandon, this.abandon)
      else this.abandon()
    })
    this.connections.open.add(this)
    try {
      const tx = await this.open()
      const result = await this.work(work, tx)
      if (this.broken) throw lost()
      const commit = { kind: 'commit' as const, label: 'commit', inside: true, lost }
      const loseCommit = async () => {
        await this.finish(() => {
          throw new Undone()
        }).catch(() => {})
        requireReplicated()
        return result
      }
      return await this.gate.pass(this.life, commit, () => this.finish(() => result), loseCommit)
    } catch (thrown) {
      this.abandon()
      throw thrown
    } finally {
      called_off()
      this.connections.open.delete(this)
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
      return gate.pass(life, statement, async () => {
        this.connections.meetServer(strings)
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
