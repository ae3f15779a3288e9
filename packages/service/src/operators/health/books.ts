// The books, by the operator's hand: worked out again and compared, and the roots that stand for
// them.

import { Type } from 'typebox'
import { checkAllBooks, type RuleReport } from '../../health/books/books.ts'
import { readFindings } from '../../health/books/watch.ts'
import { checkRoots, missingRoots, readRoots, rootsAfter } from '../../ledger/accounts/roots.ts'
import { misuse, refusal } from '../../lib/fault.ts'
import {
  Count,
  Flag,
  ListOf,
  Moment,
  moment,
  OrNull,
  optional,
  Text,
  text,
  Whole,
} from '../../platform/wire/schemas.ts'
import { LIMIT, limit, look, momentOf, type Terminal } from '../table/operation.ts'

/** One line for each rule, and the findings below those that are broken. */
function reportText(reports: readonly RuleReport[]): string {
  const lines = reports.flatMap(({ rule, says, state, note, findings }) => [
    `${rule.padEnd(4)} ${state.padEnd(11)} ${says}${note === null ? '' : ` (${note})`}`,
    ...findings.map(({ subject, found }) => `       ${subject}: ${found}`),
  ])
  const broken = reports.filter(({ state }) => state === 'broken').length
  const summary =
    broken === 0
      ? 'Everything that was checked holds.'
      : `${broken} of ${reports.length} rules are broken.`
  return `${[...lines, '', summary].join('\n')}\n`
}

const Root = {
  day: Text,
  number: Whole,
  last_entry: Whole,
  sealed_at: optional(Moment),
  sha256: Text,
}
const ExportedRoots = Type.Object({ file: Text, written: Count, last_day: OrNull(Text) })

const compareRoots = look({
  path: '/operator/books/compare',
  summary: 'whether the roots that somebody has noted are still those of the journal',
  description: 'The exit code is 1 when one is not: the first day that differs comes first.',
  body: Type.Object({ noted: text('TEXT', 'roots, as `books roots --export` writes them') }),
  reply: Type.Object({
    roots_compared: Count,
    differing: ListOf({ subject: Text, found: Text }),
  }),
  cli: {
    operands: ['file'],
    extras: Type.Object({ file: text('FILE', 'roots, as `books roots --export` writes them') }),
    filled: ['noted'],
    before: async ({ file }, { findFile }) => ({ noted: await wholeFile(file, findFile) }),
  },
  async handle({ sql, body }) {
    const noted = readRoots(body.noted)
    if (noted.length === 0) throw refusal('There is no root in it.')
    const differing = await checkRoots(sql, noted)
    const ok = differing.length === 0
    return { value: { roots_compared: noted.length, differing }, ok }
  },
})

export const bookOperations = [
  look({
    path: '/operator/books/check',
    summary:
      'work everything out again and compare: ledger, orders, delegations, deposits, and the ' +
      'chain with --node-url',
    description:
      'What seems broken is looked at again ten seconds later, and only what is found both ' +
      'times counts. The exit code is 1 when a rule is broken, or when a node was named and ' +
      'could not be asked.',
    body: Type.Object({
      since: optional(
        moment('read only blocks from then on from the node; the rest is always checked whole'),
      ),
      noted: optional(Type.Array(Text, { description: 'texts of roots, to compare with' })),
    }),
    reply: Type.Object({
      books_balanced: Flag,
      rules: ListOf({
        rule: Text,
        says: Text,
        state: Text,
        note: OrNull(Text),
        stops_selling: Flag,
        findings: ListOf({ subject: Text, found: Text }),
      }),
      roots_compared: Count,
      record_sha256: OrNull(Text),
      journal_sha256: OrNull(Text),
    }),
    cli: {
      node: 'solid',
      extras: Type.Object({
        roots: optional(
          Type.Array(
            text('FILE', 'roots that were noted outside of the database, to compare with'),
          ),
        ),
      }),
      filled: ['noted'],
      before: async ({ roots = [] }, { findFile }) => ({
        noted: await Promise.all(roots.map((name) => wholeFile(name, findFile))),
      }),
      text: (value) => reportText(value.rules as RuleReport[]),
    },
    async handle({ sql, wait, body: { since, noted: texts = [] }, ...needs }) {
      const chain = needs.chain()
      const noted = texts.flatMap(readRoots)
      const looking = { sql, wait, chain, notedRoots: async () => noted }
      const rules = await checkAllBooks(looking, momentOf(since))
      const [last] = await sql<{ sha256: string }>`
        select sha256 from operator_action order by number desc limit 1`
      const [seal] = await sql<{ number: bigint; sha256: string }>`
        select number, sha256 from journal order by number desc limit 1`
      const ok = rules.every(
        ({ state }) => state === 'holds' || (state === 'not checked' && !chain),
      )
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
      return { value, ok, note: ends.length > 0 ? ends.join('\n') : undefined }
    },
  }),
  look({
    path: '/operator/books/findings',
    summary: 'what the check of the books that runs by itself has found, the oldest first',
    description:
      'When it finds something new, everything is taken off sale; when you have seen to it, put ' +
      'it on again: `services on --all`. The exit code is 1 while there is a finding.',
    body: Type.Object({ limit }),
    reply: Type.Object({
      checked_at: OrNull(Moment),
      findings: Whole,
      listed: ListOf({ rule: Text, subject: Text, found: Text, found_at: Moment }),
    }),
    async handle({ sql, body: { limit = LIMIT } }) {
      const value = await readFindings(sql, { limit })
      return { value, ok: value.findings === 0n }
    },
  }),
  look({
    path: '/operator/books/roots',
    summary: 'the root of each day: one sum that stands for every entry and record until then',
    description:
      'Keep them somewhere else. `books check --roots FILE` proves that the entries still lead ' +
      'to each of them. --export writes those of the days that are over at the end of a file, ' +
      'unless it has them.',
    body: Type.Object({
      since: optional(moment('only days from then on')),
      noted: optional(
        Type.Object(
          { name: Text, text: Text },
          { description: 'a text of roots: only those of the days that are over and not in it' },
        ),
      ),
    }),
    reply: ListOf(Root),
    cli: {
      extras: Type.Object({
        export: optional(text('FILE', 'write them at the end of FILE, a line of JSON each')),
      }),
      filled: ['noted'],
      before: async ({ export: file }, { findFile }) =>
        file === undefined ? {} : { noted: { name: file, text: (await findFile(file)) ?? '' } },
      async after(answer, { export: file }, { findFile, appendFile }) {
        if (file === undefined) return answer
        const roots = answer.value
        const noted = (await findFile(file)) ?? ''
        // With none, too: that the file cannot be written is said at once.
        await appendFile(file, rootsAfter(noted, roots)).catch((thrown: Error) => {
          throw refusal(`${file} cannot be written: ${thrown.message}.`)
        })
        const last_day = roots.at(-1)?.day ?? null
        return { ...answer, value: { file, written: roots.length, last_day } }
      },
      prints: Type.Union([ListOf(Root), ExportedRoots]),
    },
    async handle({ sql, clock, body: { since, noted } }) {
      if (noted !== undefined && since !== undefined)
        throw misuse('--export writes all that the file lacks: leave --since out.')
      if (noted !== undefined) return { value: await missingRoots(sql, clock, noted) }
      const from = momentOf(since) ?? null
      const value = await sql<{
        day: string
        number: bigint
        last_entry: bigint
        sealed_at: Date
        sha256: string
      }>`
        select day::text, number, last_entry, sealed_at, sha256 from journal_root
        where ${from}::timestamptz is null or sealed_at >= ${from} order by day`
      return { value }
    },
  }),
  compareRoots,
]

async function wholeFile(name: string, find: Terminal['findFile']): Promise<string> {
  const text = await find(name)
  if (text === undefined) throw refusal(`There is no file ${name}.`)
  return text
}
