// The books' check: everything that rows say of money, orders and delegations is worked out again
// from other rows and, where a node is named, from the chain, and compared. It only reads. Rules
// about rows are one snapshot each look. What steps are about to put right (a fork, a block that
// has just come) may look wrong for a moment, so what seems broken is looked at again: only what is
// found both times counts.

import { accountSums } from '../../ledger/accounts/books.ts'
import type { Root } from '../../ledger/accounts/roots.ts'
import {
  type SealedSums,
  type SumsSeal,
  sumsAtNewestSeal,
  sumsFromSeal,
} from '../../ledger/accounts/sealed_sums.ts'
import { Outage } from '../../lib/fault.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import {
  type ChainView,
  type Finding,
  missingHoldings,
  missingOnChain,
  wrongReceipts,
  wrongStakes,
} from './chain.ts'
import { ROW_RULES } from './rules.ts'
import { scopeOf } from './scope.ts'

export type RuleReport = {
  rule: string
  says: string
  state: 'holds' | 'broken' | 'not checked'
  /** Why it was not checked, or how much was looked at. */
  note: string | null
  /** Whether the check that runs by itself stops selling for it. */
  stops_selling: boolean
  findings: Finding[]
}

type Rule = Pick<RuleReport, 'rule' | 'says' | 'stops_selling'>

/** Between the two looks: longer than the steps that put things right rest. */
export const LOOK_AGAIN_MS = 10_000

export const NODE_RULES = [
  {
    rule: 'C5',
    says: 'our solid transactions are in the solid blocks that we noted',
    stops_selling: true,
  },
  {
    rule: 'C6',
    says: 'solid deposits are in the solid blocks that we noted, with sender, receiver and amount',
    stops_selling: true,
  },
  {
    rule: 'C6',
    says: 'the node shows what contracts sent',
    stops_selling: false,
  },
  {
    rule: 'C13',
    says:
      'what was booked as having come to deposit addresses is what the chain shows there, ' +
      'with what left them',
    stops_selling: true,
  },
  {
    rule: 'C8',
    says: 'what our wallets delegate on the solid chain is what live delegations add up to',
    stops_selling: true,
  },
  {
    rule: 'C19',
    says: 'what is booked as withdrawn of rewards is what receipts of the solid chain say',
    stops_selling: true,
  },
] as const

/** How much of the ledger is looked at. */
export type BooksStart = {
  /** Only blocks from then on are read from the node; undefined: all. */
  since?: Date | undefined
  /** The seal at which a whole check held; undefined: from the beginning. */
  from?: SumsSeal | undefined
  /** Is given the sums at the newest seal, of the same snapshot. A look that is not whole has
   *  none. */
  sealed?: ((sums: SealedSums | undefined) => void) | undefined
  /** Of a look at the same rules, in their order: those that held then are not looked at again,
   *  their reports stay. Rules about the chain are looked at all or none. */
  looked?: readonly RuleReport[] | undefined
}

/** Sets a transaction that looks at rows, from a seal on or at all: one snapshot, room and plans
 *  for its joins. */
export async function setLook(tx: Tx, from: SumsSeal | undefined): Promise<void> {
  await tx`set transaction isolation level repeatable read, read only`
  // The joins of millions of rows stay in memory; it is given back with the transaction.
  await tx`set local work_mem = '128MB'`
  // A plan for any bounds would read whole tables also when the last days are looked at.
  if (from) await tx`set local plan_cache_mode = force_custom_plan`
}

/** The rules about rows, in one snapshot, but those that held when they were looked at. */
async function lookAtRows(
  sql: Sql,
  noted: readonly Root[],
  { from, sealed, looked }: BooksStart,
): Promise<RuleReport[]> {
  return sql.begin(async (tx) => {
    await setLook(tx, from)
    const sums = await (from ? sumsFromSeal(tx, from) : accountSums(tx))
    const scope = await scopeOf(tx, from)
    const reports: RuleReport[] = []
    for (const [i, { find, ...rule }] of ROW_RULES.entries()) {
      const held = heldReport(looked?.[i])
      reports.push(held ?? report(rule, await find(tx, sums, noted, scope), null))
    }
    sealed?.(from ? undefined : await sumsAtNewestSeal(tx))
    return reports
  })
}

const heldReport = (one: RuleReport | undefined) => (one?.state === 'holds' ? one : undefined)

function report(
  { rule, says, stops_selling }: Rule,
  findings: Finding[],
  note: string | null,
): RuleReport {
  return {
    rule,
    says,
    state: findings.length === 0 ? 'holds' : 'broken',
    note,
    stops_selling,
    findings,
  }
}

/** The rules about the chain, by a node. What it does not answer is not checked. */
async function lookAtChain(
  sql: Sql,
  chain: ChainView,
  since: Date | undefined,
): Promise<RuleReport[]> {
  const [c5, c6, c6_shown, c13, c8, c19] = NODE_RULES
  const unknown = (rules: readonly Rule[]) => (thrown: unknown) => {
    if (!(thrown instanceof Outage)) throw thrown
    return rules.map(
      (rule): RuleReport => ({ ...rule, state: 'not checked', note: thrown.message, findings: [] }),
    )
  }
  const in_blocks = missingOnChain(sql, chain, since ?? null).then(
    ({ deposits, unseen, attempts, blocks }) => {
      const note = `${blocks} blocks read`
      return [
        report(c5, attempts, note),
        report(c6, deposits, note),
        report(c6_shown, unseen, note),
      ]
    },
    unknown([c5, c6, c6_shown]),
  )
  const holdings = missingHoldings(sql, chain, since ?? null).then(
    (findings) => [report(c13, findings, null)],
    unknown([c13]),
  )
  const stakes = wrongStakes(sql, chain).then(
    (findings) => [report(c8, findings, null)],
    unknown([c8]),
  )
  const rewards = wrongReceipts(sql, chain, since ?? null).then(
    (findings) => [report(c19, findings, null)],
    unknown([c19]),
  )
  return [...(await in_blocks), ...(await holdings), ...(await stakes), ...(await rewards)]
}

/** One look at everything. Without a node the rules about the chain are left out. */
export async function lookAtBooks(
  { sql, chain, notedRoots }: BooksSources,
  start: BooksStart = {},
): Promise<RuleReport[]> {
  const rows = await lookAtRows(sql, (await notedRoots?.()) ?? [], start)
  if (!chain) return rows
  const of_chain = start.looked?.slice(ROW_RULES.length) ?? []
  const held =
    of_chain.length === NODE_RULES.length && of_chain.every(({ state }) => state === 'holds')
  return [...rows, ...(held ? of_chain : await lookAtChain(sql, chain, start.since))]
}

export type BooksSources = {
  sql: Sql
  chain: ChainView | undefined
  /** The roots that were noted outside of the database; none when left out. */
  notedRoots?: (() => Promise<Root[]>) | undefined
}

/** What two looks at the same rules have both found. */
export const foundByBoth = (
  first: readonly RuleReport[],
  second: readonly RuleReport[],
): RuleReport[] => second.map((one, i) => foundTwice(first[i]!, one))

/** Checks everything. */
export async function checkAllBooks(
  { sql, chain, notedRoots, wait }: BooksSources & { wait(ms: number): Promise<void> },
  since?: Date,
): Promise<RuleReport[]> {
  const look = () => lookAtBooks({ sql, chain, notedRoots }, { since })
  const first = await look()
  const again =
    first.some(({ state }) => state !== 'holds') && (await wait(LOOK_AGAIN_MS).then(look))
  const reports = again ? foundByBoth(first, again) : first
  const unasked = NODE_RULES.map(
    (rule): RuleReport => ({
      ...rule,
      state: 'not checked',
      note: 'give --node-url',
      findings: [],
    }),
  )
  const number = ({ rule }: RuleReport) => Number(rule.slice(1))
  return (chain ? reports : [...reports, ...unasked]).sort((a, b) => number(a) - number(b))
}

/** What was found at both looks, in the words of the second. */
function foundTwice(first: RuleReport, second: RuleReport): RuleReport {
  if (second.state === 'not checked') return second
  if (first.state === 'not checked') return { ...second, state: first.state, findings: [] }
  const before = new Set(first.findings.map(({ subject }) => subject))
  return report(
    second,
    second.findings.filter(({ subject }) => before.has(subject)),
    second.note,
  )
}
