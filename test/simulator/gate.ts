// The gate that everything which leaves the service goes through: each statement, each commit and
// each call of the node waits here until the run lets it pass, one at a time. So one seed decides
// how jobs and whole instances interleave on a real PostgreSQL. A statement that runs into a row
// lock of another held transaction stays in flight: the server itself is asked whether all that is
// in flight waits for locks, so nothing here depends on how long anything takes.

import { setTimeout as delay } from 'node:timers/promises'

/** An instance of the service that can be killed: what it waits for then never comes. */
export class Life {
  readonly name: string
  dead = false
  private readonly last_words = new Set<() => void>()

  constructor(name: string) {
    this.name = name
  }

  /** Called when it is killed. Returns how to call that off. */
  onDeath(last_words: () => void): () => void {
    this.last_words.add(last_words)
    return () => this.last_words.delete(last_words)
  }

  kill(): void {
    this.dead = true
    for (const say of this.last_words) say()
  }
}

export type OpKind = 'begin' | 'statement' | 'commit' | 'rollback' | 'node'

/** Something an instance wants to do outside of itself. */
export type Op = {
  readonly number: number
  readonly kind: OpKind
  readonly label: string
  /** Whether it is part of an open transaction. */
  readonly inside: boolean
  readonly life: Life
  /** Does it for real. */
  readonly act: () => Promise<unknown>
  /** Does it on a server that is lost before anybody else has it: what the caller is told then. */
  readonly lose: (() => Promise<unknown>) | undefined
  /** What the caller is told when the answer is lost. */
  readonly lost: () => Error
  readonly deliver: (outcome: Outcome) => void
}

export type Outcome = { value: unknown } | { thrown: unknown }

/** How an op passes: as it should; not done, and an error; done, but the answer is lost; the
 *  done by a server that is lost then, before a standby has it; the instance is killed before it is
 *  done, or after. */
export type Passage =
  | 'through'
  | 'refused'
  | 'unanswered'
  | 'unreplicated'
  | 'killed_before'
  | 'killed_after'

/** Says how many sessions of the database wait for a lock that another one holds. */
export type BlockedCounter = () => Promise<number>

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** The longest that anything takes from one thing to the next without passing here: a request
 *  through the server. */
const STILL_TURNS = 6
/** Wait for this long before the server is asked whether somebody is blocked; it is asked again and
 *  again. */
const PATIENCE_MS = 1
const STUCK_MS = 30_000

export class Gate {
  readonly held: Op[] = []
  /** When open, everything passes at once, and unseen. */
  open = true
  /** Counts whatever happens: while it stands still for some turns of the event loop, the service
   *  waits for the gate. */
  activity = 0
  /** How many instances are opening their front door, which takes its turns without passing
   *  here. */
  preparing = 0
  /** Transactions that are open on the server. */
  transactions = 0
  private readonly flying = new Map<Op, Outcome | undefined>()
  private readonly trailing = new Set<Promise<unknown>>()
  private readonly countBlocked: BlockedCounter
  private last: Promise<unknown> = Promise.resolve()
  /** How many ops have been asked for. */
  asked = 0
  /** How often a transaction ended while several statements waited for locks: which of them gets a
   *  row that it has changed is up to the server then, and a run may go another way the next
   *  time. */
  races = 0
  private bell: () => void = () => {}

  constructor(countBlocked: BlockedCounter) {
    this.countBlocked = countBlocked
  }

  /** Asks to do something. Never settles once the instance is dead. */
  pass<T>(
    life: Life,
    what: Pick<Op, 'kind' | 'label' | 'inside' | 'lost'>,
    act: () => Promise<T>,
    lose?: () => Promise<T>,
  ): Promise<T> {
    if (life.dead) return new Promise<never>(() => {})
    if (this.open) return act()
    this.activity += 1
    return new Promise<T>((resolve, reject) => {
      const deliver = (outcome: Outcome) => {
        if (life.dead) return
        if ('value' in outcome) resolve(outcome.value as T)
        else reject(outcome.thrown)
      }
      this.held.push({ ...what, number: this.asked++, life, act, lose, deliver })
    })
  }

  /** While it is open, statements and transactions happen one after the other, as they were asked
   *  for: what is on its way together would otherwise end in whatever order the server likes. */
  inTurn<T>(act: () => Promise<T>): Promise<T> {
    const acted = this.last.then(act)
    this.last = acted.catch(() => {})
    return acted
  }

  /** Something the server still has to do for nobody: the rollback of a dead instance. */
  trail(ending: Promise<unknown>): void {
    if (this.blocked > 1) this.races += 1
    this.trailing.add(ending)
    const gone = () => {
      this.trailing.delete(ending)
      this.bell()
    }
    ending.then(gone, gone)
  }

  /** Drops what a dead instance still wanted. */
  forget(life: Life): void {
    for (let i = this.held.length - 1; i >= 0; i--)
      if (this.held[i]!.life === life) this.held.splice(i, 1)
  }

  /** Ends what is under way for these instances: their open transactions are rolled back. */
  async end(lives: readonly Life[]): Promise<void> {
    for (const life of lives) {
      life.kill()
      this.forget(life)
    }
    await Promise.allSettled(this.trailing)
  }

  /** Lets a held op pass, and returns when whatever follows from it waits again. */
  async release(op: Op, passage: Passage): Promise<void> {
    this.held.splice(this.held.indexOf(op), 1)
    if (passage === 'refused') op.deliver({ thrown: op.lost() })
    else if (passage === 'killed_before') op.life.kill()
    else this.launch(op, passage)
    await this.quiet()
  }

  private launch(op: Op, passage: Passage): void {
    if ((op.kind === 'commit' || op.kind === 'rollback') && this.blocked > 1) this.races += 1
    this.flying.set(op, undefined)
    const land = (outcome: Outcome) => {
      const lost = passage === 'unanswered' && 'value' in outcome
      this.flying.set(op, lost ? { thrown: op.lost() } : outcome)
      if (passage === 'killed_after') op.life.kill()
      this.bell()
    }
    const acted = passage === 'unreplicated' && op.lose ? op.lose() : op.act()
    acted.then(
      (value) => land({ value }),
      (thrown: unknown) => land({ thrown }),
    )
  }

  /** Returns when nothing moves any more: all that is in flight waits for a lock, and the service
   *  waits for the gate. */
  async quiet(): Promise<void> {
    for (;;) {
      await this.still()
      await this.landed()
      const done = [...this.flying].filter(([, outcome]) => outcome !== undefined)
      if (done.length === 0) return
      done.sort(([a], [b]) => a.number - b.number)
      for (const [op, outcome] of done) {
        this.flying.delete(op)
        op.deliver(outcome!)
        await this.still()
      }
    }
  }

  /** What passes now has been taken up by the code that waited for it. */
  private async still(): Promise<void> {
    let before: number
    do {
      before = this.activity
      for (let turns = 0; turns < STILL_TURNS; turns++) await turn()
    } while (before !== this.activity || this.preparing > 0)
  }

  private unlanded(): number {
    let count = this.trailing.size
    for (const outcome of this.flying.values()) if (outcome === undefined) count += 1
    return count
  }

  private async landed(): Promise<void> {
    for (let waited_ms = 0; ; waited_ms += PATIENCE_MS) {
      const before = this.unlanded()
      if (before === 0) return
      const rung = new Promise<void>((resolve) => {
        this.bell = resolve
      })
      if (!this.mayBlock()) {
        await rung
        continue
      }
      await Promise.race([rung, delay(PATIENCE_MS)])
      if (this.unlanded() < before) continue
      const blocked = await this.countBlocked()
      if (blocked === before && this.unlanded() === before) return
      if (waited_ms > STUCK_MS)
        throw new Error(`${before} statements are in flight and ${blocked} wait for a lock`)
    }
  }

  /** Whether what is in flight could meet a lock of somebody who is held here. */
  private mayBlock(): boolean {
    const open = [...this.flying].filter(([, outcome]) => outcome === undefined).map(([op]) => op)
    if (open.length + this.trailing.size > 1) return true
    return open.some((op) => op.kind === 'statement' && this.transactions > (op.inside ? 1 : 0))
  }

  /** How much is in flight and waits for a lock, when nothing moves. */
  get blocked(): number {
    return this.unlanded()
  }

  /** What is in flight, by its first words. */
  get waiting(): string[] {
    return [...this.flying.keys()].map(({ life, kind, label }) => `${life.name} ${kind} ${label}`)
  }
}
