// docs/guarantees/figures.json, which `npm run figures` writes, and the block of
// docs/guarantees/figures.md that is printed from it.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { filled } from '../../tools/filled.ts'
import { commandOf, type Figure, valueAt } from './table.ts'

/** The machine and versions of a measurement. */
export type Machine = {
  cpu: string
  memory: string
  disk: string
  system: string
  node: string
  postgres: string
}

export type Measurement = {
  name: string
  command: string
  commit: string
  measured_at: string
  seconds: number
  machine: Machine
  /** The benchmark's --json output. */
  values: unknown
}

const DOCS = join(import.meta.dirname, '../../docs/guarantees')
export const JSON_FILE = join(DOCS, 'figures.json')
export const PAGE_FILE = join(DOCS, 'figures.md')
const BEGIN = '<!-- printed by `npm run figures` from figures.json -->\n'
const END = '<!-- end of what is printed -->\n'

export const readMeasurements = (): Measurement[] =>
  JSON.parse(readFileSync(JSON_FILE, 'utf8')) as Measurement[]

/** Writes both files: the measurements in the order of the table, and the page. */
export function writeMeasurements(table: readonly Figure[], all: readonly Measurement[]): void {
  const ordered = table.flatMap(({ name }) => all.filter((one) => one.name === name))
  writeFileSync(JSON_FILE, `${JSON.stringify(ordered, null, 1)}\n`)
  writeFileSync(PAGE_FILE, withBlock(readFileSync(PAGE_FILE, 'utf8'), printBlock(table, ordered)))
}

function withBlock(page: string, block: string): string {
  const [before, rest] = page.split(BEGIN)
  const [, after] = (rest ?? '').split(END)
  if (before === undefined || after === undefined) throw new Error(`no place in ${PAGE_FILE}`)
  return `${before}${BEGIN}\n${block}\n${END}${after}`
}

/** The text between the page's marks. */
export const blockOf = (page: string): string =>
  (page.split(BEGIN)[1]?.split(END)[0] ?? '').replace(/^\n|\n$/g, '')

export function printBlock(table: readonly Figure[], all: readonly Measurement[]): string {
  const machines = [...new Set(all.map(({ machine }) => printMachine(machine)))]
  const nameOf = (machine: Machine) => machines.indexOf(printMachine(machine)) + 1
  const figures = table.map((figure) => {
    const one = all.find(({ name }) => name === figure.name)
    const when =
      one === undefined
        ? 'not measured yet'
        : `${one.measured_at.slice(0, 10)}, commit ${one.commit}, machine ${nameOf(one.machine)}`
    const rows = one === undefined ? [] : figure.lines.map((line) => printLine(line, one.values))
    const head = filled(`  - \`${commandOf(figure)}\`: ${when}`, '    ').trimEnd()
    return [`- **${figure.about}**`, head, ...rows].join('\n')
  })
  const listed = machines.map((text, i) => `${i + 1}. ${text}`)
  return `Machines:\n\n${listed.join('\n')}\n\n${figures.join('\n')}\n`
}

const printMachine = ({ cpu, memory, disk, system, node, postgres }: Machine) =>
  `${cpu}, ${memory}\n   - ${system}, Node ${node}, PostgreSQL ${postgres}\n   - ${disk}`

function printLine({ says, at, unit }: Figure['lines'][number], values: unknown): string {
  return `  - ${says}: ${[printValue(valueAt(values, at)), ...(unit ? [unit] : [])].join(' ')}`
}

function printValue(value: unknown): string {
  if (typeof value === 'number')
    return value.toLocaleString('en-US', { maximumSignificantDigits: value < 1_000 ? 3 : 4 })
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return value === undefined || value === null ? 'none' : String(value)
}

/** How old a measurement may be, by the newest commit: so a checkout stays as fresh as it was. */
export const DAYS_MAX = 14
export const COMMITS_MAX = 200

export type Head = {
  /** Of the newest commit. */
  at: Date
  /** How many came after this one; undefined when it is not among them. */
  commitsSince(commit: string): number | undefined
}

/** Sentences about what is too old, or names a commit that is not of this history. */
export function staleMeasurements(all: readonly Measurement[], head: Head): string[] {
  return all.flatMap(({ name, commit, measured_at }) => {
    const days = (head.at.getTime() - Date.parse(measured_at)) / 86_400_000
    const commits = head.commitsSince(commit)
    if (commits === undefined) return [`${name}: ${commit} is no commit before this one`]
    if (days > DAYS_MAX) return [`${name} was measured ${Math.floor(days)} days ago`]
    if (commits > COMMITS_MAX) return [`${name} was measured ${commits} commits ago`]
    return []
  })
}

/** Disagreements between the table and the measurements. */
export function wrongMeasurements(table: readonly Figure[], all: readonly Measurement[]): string[] {
  return all.flatMap(({ name, command, values }) => {
    const figure = table.find((one) => one.name === name)
    if (figure === undefined) return [`${name} is in no line of the table`]
    if (command !== commandOf(figure)) return [`${name} was measured by ${command}`]
    return figure.lines
      .filter(({ at }) => valueAt(values, at) === undefined)
      .map(({ says }) => `${name} prints nothing for "${says}"`)
  })
}
