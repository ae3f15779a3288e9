// The auditor: reads the rows and the chain by ways of its own and holds them against each
// other. It shares no code with the service, so that a mistake there is not made here again.

import type pg from 'pg'
import { at, type Branch, type Post, readBranch } from './branch.ts'
import {
  decisionsAreBooked,
  heldMoneyIsThere,
  heldSendersGetNothing,
  resolutionsAreTrue,
} from './by_hand.ts'
import { checksAreCounted, checksArePaidOnce } from './checks.ts'
import { collectedIsBooked, collectionsAreExact } from './collections.ts'
import { customersHaveTheRest } from './customers.ts'
import { documentsAreCharges } from './documents.ts'
import { eventsAreNumbered, rowsAreTold } from './events.ts'
import { History } from './history.ts'
import { readJournal, sealsHold } from './journal.ts'
import {
  AT_REST as AT_REST_OF_ORDERS,
  depositsAreKnown,
  fundsAreThere,
  type Place,
} from './rest.ts'
import { rewardsAreBooked, rewardsAreExact } from './rewards.ts'
import { type Event, type Rows, readRows } from './rows.ts'
import { ALWAYS as ALWAYS_OF_ORDERS, type Books } from './rules.ts'
import { capsAreKept } from './spending.ts'
import { ALWAYS_OF_SUBSCRIPTIONS, laterUsesAreCounted } from './subscriptions.ts'
import { ALWAYS_OF_SUPPLIES } from './supplies.ts'

/** Rules that hold at every moment. */
export const ALWAYS: readonly ((books: Books) => string[])[] = [
  ...ALWAYS_OF_ORDERS,
  ...ALWAYS_OF_SUBSCRIPTIONS,
  ...ALWAYS_OF_SUPPLIES,
  capsAreKept,
  checksArePaidOnce,
  checksAreCounted,
  customersHaveTheRest,
  documentsAreCharges,
  decisionsAreBooked,
  resolutionsAreTrue,
  heldMoneyIsThere,
  collectionsAreExact,
  rewardsAreExact,
  eventsAreNumbered,
  rowsAreTold,
]

/** Rules that hold when nothing is left to do. */
export const AT_REST: readonly ((books: Books) => string[])[] = [
  ...AT_REST_OF_ORDERS,
  collectedIsBooked,
  rewardsAreBooked,
]

export type Sources = {
  client: pg.Client
  post: Post
  /** Accounts that only the service acts for. */
  wallets: readonly string[]
  /** Where the service began, or earlier. */
  from_block: number
}

export class Auditor {
  private readonly client: pg.Client
  private readonly post: Post
  private readonly wallets: readonly string[]
  private readonly from_block: number
  private readonly history = new History()
  private branch: Branch | undefined
  private rows: Rows | undefined
  private units_per_trx = { energy: 0, bandwidth: 0 }

  constructor({ client, post, wallets, from_block }: Sources) {
    this.from_block = from_block
    this.client = client
    this.post = post
    this.wallets = wallets
  }

  /** What is wrong now. The chain is read after the rows: rows speak only of blocks that the chain
   *  had already, or has taken back. */
  async look(): Promise<string[]> {
    const books = await this.read()
    return [...this.see(books), ...ALWAYS.flatMap((rule) => rule(books))]
  }

  /** What is wrong when nothing should be left to do. */
  async lookAtRest(place: Place): Promise<string[]> {
    const books = await this.read()
    const findings = [...this.see(books), ...[...ALWAYS, ...AT_REST].flatMap((rule) => rule(books))]
    findings.push(...laterUsesAreCounted(books, this.history.active_at))
    findings.push(...sealsHold(await readJournal(this.client)))
    findings.push(...heldSendersGetNothing(books, place))
    return [...findings, ...depositsAreKnown(books, place), ...fundsAreThere(books, place)]
  }

  /** How many of each thing there are by state, as last read: what a run has come through. */
  outcomes(): Record<string, number> {
    const counts: Record<string, number> = {}
    const {
      orders = [],
      delegations = [],
      attempts = [],
      activations = [],
      deposits = [],
      votes = [],
      claims = [],
    } = this.rows ?? {}
    const { subscriptions = [], checks = [], uses = [] } = this.rows ?? {}
    if (uses.length > 0) counts.uses = uses.length
    const lists = {
      orders,
      delegations,
      attempts,
      activations,
      deposits,
      votes,
      claims,
      subscriptions,
      checks,
    }
    for (const [what, list] of Object.entries(lists)) {
      for (const { state } of list)
        counts[`${what} ${state}`] = (counts[`${what} ${state}`] ?? 0) + 1
    }
    const unbegun = subscriptions.filter((one) => one.state === 'stopped' && !one.started_at)
    if (unbegun.length > 0) counts['subscriptions stopped before they began'] = unbegun.length
    return counts
  }

  /** What customers were told, as last read. */
  get events(): readonly Event[] {
    return this.rows?.events ?? []
  }

  private see({ rows, branch }: Books): string[] {
    return this.history.see(rows, branch.blocks.at(-1)?.number ?? 0)
  }

  /** What the rules are about, as it is now. */
  async read(): Promise<Books> {
    const rows = await readRows(this.client)
    this.rows = rows
    this.branch = await readBranch(this.post, this.from_block, this.branch)
    const state = await this.post('/wallet/getaccountresource', {
      address: this.wallets[0],
      visible: true,
    })
    const units = (resource: string) =>
      Number(at(state, `Total${resource}Limit`)) / Number(at(state, `Total${resource}Weight`))
    // The network's weights drift; what was delegated earlier was measured by what held then.
    const best = this.units_per_trx
    this.units_per_trx = {
      energy: Math.max(best.energy, units('Energy')),
      bandwidth: Math.max(best.bandwidth, units('Net')),
    }
    const holdings = new Map<string, bigint>()
    for (const { deposit_address: address } of rows.customers) {
      const account = await this.post('/walletsolidity/getaccount', { address, visible: true })
      holdings.set(address, BigInt(String(at(account, 'balance') ?? 0)))
    }
    return {
      rows,
      branch: this.branch,
      wallets: this.wallets,
      units_per_trx: this.units_per_trx,
      holdings,
    }
  }
}
