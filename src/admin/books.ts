// The books' check: everything that rows say of money, orders and delegations is worked out again from other rows and,
// where a node is named, from the chain, and compared. It only reads. Rules about rows are one snapshot each look. What
// steps are about to put right (a fork, a block that has just come) may look wrong for a moment, so what seems broken is
// looked at again: only what is found both times counts.

import { accountSums } from '../ledger/books.ts'
import { exportRoots, type Root, readRoots } from '../ledger/roots.ts'
import { Outage } from '../lib/fault.ts'
import { readWhole } from '../lib/files.ts'
import type { Sql } from '../lib/sql.ts'
import { misuse, refusal, sentence } from './actions.ts'
import { ROW_RULES } from './book_rules.ts'
import { type ChainView, type Finding, missingHoldings, missingOnChain, wrongStakes } from './chain_books.ts'
import { command, many, type Needs, text, time } from './command.ts'

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
  { rule: 'C5', says: 'our solid transactions are in the solid blocks that we noted', stops_selling: true },
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
    says: 'what was booked as having come to deposit addresses is what the chain shows there, with what left them',
    stops_selling: true,
  },
  {
    rule: 'C8',
    says: 'what our wallets delegate on the solid chain is what live delegations add up to',
    stops_selling: true,
  },
] as const

/** The rules about rows, in one snapshot. */
async function lookAtRows(sql: Sql, noted: readonly Root[]): Promise<RuleReport[]> {
  return sql.begin(async (tx) => {
    await tx`set transaction isolation level repeatable read, read only`
    // The joins of millions of rows stay in memory; it is given back with the transaction.
    await tx`set local work_mem = '128MB'`
    const sums = await accountSums(tx)
    const reports: RuleReport[] = []
    for (const { find, ...rule } of ROW_RULES) reports.push(report(rule, await find(tx, sums, noted), null))
    return reports
  })
}

function report({ rule, says, stops_selling }: Rule, findings: Finding[], note: string | null): RuleReport {
  return { rule, says, state: findings.length === 0 ? 'holds' : 'broken', note, stops_selling, findings }
}

/** The rules about the chain, by a node. What it does not answer is not checked. */
async function lookAtChain(sql: Sql, chain: ChainView, since: Date | undefined): Promise<RuleReport[]> {
  const [c5, c6, c6_shown, c13, c8] = NODE_RULES
  const unknown = (rules: readonly Rule[]) => (thrown: unknown) => {
    if (!(thrown instanceof Outage)) throw thrown
    return rules.map((rule): RuleReport => ({ ...rule, state: 'not checked', note: thrown.message, findings: [] }))
  }
  const in_blocks = missingOnChain(sql, chain, since ?? null).then(
    ({ deposits, unseen, attempts, blocks }) => {
      const note = `${blocks} blocks read`
      return [report(c5, attempts, note), report(c6, deposits, note), report(c6_shown, unseen, note)]
    },
    unknown([c5, c6, c6_shown]),
  )
  const holdings = missingHoldings(sql, chain, since ?? null).then(
    (findings) => [report(c13, findings, null)],
    unknown([c13]),
  )
  const stakes = wrongStakes(sql, chain).then((findings) => [report(c8, findings, null)], unknown([c8]))
  return [...(await in_blocks), ...(await holdings), ...(await stakes)]
}

/** One look at everything. Without a node the rules about the chain are left out. `since`: only blocks from then on are
 *  read from the node. */
export async function lookAtBooks({ sql, chain, notedRoots }: Looking, since?: Date): Promise<RuleReport[]> {
  const rows = await lookAtRows(sql, (await notedRoots?.()) ?? [])
  return chain ? [...rows, ...(await lookAtChain(sql, chain, since))] : rows
}

export type Looking = {
  sql: Sql
  chain: ChainView | undefined
  /** The roots that were noted outside of the database; none when left out. */
  notedRoots?: (() => Promise<Root[]>) | undefined
}

/** What two looks at the same rules have both found. */
export const foundByBoth = (first: readonly RuleReport[], second: readonly RuleReport[]): RuleReport[] =>
  second.map((one, i) => foundTwice(first[i]!, one))

/** Checks everything. */
export async function checkAllBooks(
  { sql, chain, notedRoots, wait }: Looking & Pick<Needs, 'wait'>,
  since?: Date,
): Promise<RuleReport[]> {
  const look = () => lookAtBooks({ sql, chain, notedRoots }, since)
  const first = await look()
  const again = first.some(({ state }) => state !== 'holds') && (await wait(LOOK_AGAIN_MS).then(look))
  const reports = again ? foundByBoth(first, again) : first
  const unasked = NODE_RULES.map(
    (rule): RuleReport => ({ ...rule, state: 'not checked', note: 'give --node-url', findings: [] }),
  )
  const number = ({ rule }: RuleReport) => Number(rule.slice(1))
  return (chain ? reports : [...reports, ...unasked]).sort((a, b) => number(a) - number(b))
}

/** What was found at both looks, in the words of the second. */
function foundTwice(first: RuleReport, second: RuleReport): RuleReport {
  if (second.state === 'not checked') return second
  const before = new Set(first.findings.map(({ subject }) => subject))
  return report(
    second,
    second.findings.filter(({ subject }) => before.has(subject)),
    second.note,
  )
}

/** One line for each rule, and the findings below those that are broken. */
function reportText(reports: readonly RuleReport[]): string {
  const lines = reports.flatMap(({ rule, says, state, note, findings }) => [
    `${rule.padEnd(4)} ${state.padEnd(11)} ${says}${note === null ? '' : ` (${note})`}`,
    ...findings.map(({ subject, found }) => `       ${subject}: ${found}`),
  ])
  const broken = reports.filter(({ state }) => state === 'broken').length
  const summary =
    broken === 0 ? 'Everything that was checked holds.' : `${broken} of ${reports.length} rules are broken.`
  return `${[...lines, '', summary].join('\n')}\n`
}

async function rootsIn(file: string): Promise<Root[]> {
  const text = await readWhole(file)
  if (text === undefined) throw refusal(`There is no file ${file}.`)
  return sentence(Promise.resolve().then(() => readRoots(text)))
}

export const bookCommands = [
  command({
    words: 'books check',
    summary:
      'work everything out again and compare: ledger, orders, delegations, deposits, and the chain with --node-url',
    details:
      'What seems broken is looked at again ten seconds later, and only what is found both times counts. The exit code is 1 when a rule is broken, or when a node was named and could not be asked.',
    options: {
      node_url: many(text('URL', 'a node to compare with')),
      solid_node_url: many(text('URL', 'its solidity side, where that has an address of its own')),
      since: time('read only blocks from then on from the node; the rest is always checked whole'),
      roots: many(text('FILE', 'roots that were noted outside of the database, to compare with')),
    },
    async run({ sql, wait, chainAt }, { since, node_url, solid_node_url, roots }) {
      const chain = chainAt(node_url, solid_node_url)
      const noted = (await Promise.all(roots.map(rootsIn))).flat()
      const rules = await checkAllBooks({ sql, wait, chain, notedRoots: async () => noted }, since)
      const [last] = await sql<{ sha256: string }>`
        select sha256 from operator_action order by number desc limit 1`
      const [seal] = await sql<{ number: bigint; sha256: string }>`
        select number, sha256 from journal order by number desc limit 1`
      const ok = rules.every(({ state }) => state === 'holds' || (state === 'not checked' && !chain))
      const value = {
        books_balanced: !rules.some(({ state }) => state === 'broken'),
        rules,
        roots_compared: noted.length,
        record_sha256: last?.sha256 ?? null,
        journal_sha256: seal?.sha256 ?? null,
      }
      const ends = [
        ...(seal ? [`The journal ends with seal ${seal.number}, ${seal.sha256}.`] : []),
        ...(last ? [`Records of changes end with ${last.sha256}.`] : []),
      ]
      const note = ends.length > 0 ? ends.join('\n') : undefined
      return { value, text: reportText(rules), ok, ...(note !== undefined && { note }) }
    },
  }),
  command({
    words: 'books roots',
    summary: 'the root of each day: one sum that stands for every entry and record until then',
    details:
      'Keep them somewhere else. `books check --roots FILE` proves that the entries still lead to each of them. --export writes those of the days that are over at the end of a file, unless it has them.',
    options: {
      since: time('only days from then on'),
      export: text('FILE', 'write them at the end of FILE, a line of JSON each'),
    },
    async run({ sql, clock }, { since = null, export: file }) {
      if (file !== undefined && since !== null)
        throw misuse('--export writes all that the file lacks: leave --since out.')
      if (file !== undefined) {
        const written = await sentence(exportRoots(sql, clock, file))
        return { value: { file, written: written.length, last_day: written.at(-1)?.day ?? null } }
      }
      const value = await sql`
        select day::text, number, last_entry, sealed_at, sha256 from journal_root
        where ${since}::timestamptz is null or sealed_at >= ${since} order by day`
      return { value }
    },
  }),
]
