// The books' check and the journal's roots on the command line.

import { checkAllBooks, type RuleReport } from '../audit/books.ts'
import { exportRoots, type Root, readRoots } from '../ledger/roots.ts'
import { misuse, refusal } from '../lib/fault.ts'
import { readWhole } from '../lib/files.ts'
import { command, many, text, time } from './command.ts'

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

async function rootsIn(file: string): Promise<Root[]> {
  const text = await readWhole(file)
  if (text === undefined) throw refusal(`There is no file ${file}.`)
  return readRoots(text)
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
        const written = await exportRoots(sql, clock, file)
        return { value: { file, written: written.length, last_day: written.at(-1)?.day ?? null } }
      }
      const value = await sql`
        select day::text, number, last_entry, sealed_at, sha256 from journal_root
        where ${since}::timestamptz is null or sealed_at >= ${since} order by day`
      return { value }
    },
  }),
]
