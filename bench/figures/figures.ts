// npm run figures [-- --only NAME ...] [--again] [--print] [--list]: measures what the
// documentation says of speed, and writes it to docs/guarantees/figures.json and
// docs/guarantees/figures.md. Each figure is measured by its benchmark, `npm run bench -- NAME
// --json`, one after the other, and written down when it has been measured: a run that was
// interrupted goes on where it was, since what was measured at this commit is not measured again,
// unless --again says so. A benchmark that fails, or takes longer than it may, leaves its figure as
// it was; it is named at the end, and the exit code is 1.
//   --only NAME   these alone; may be given more than once
//   --again       also what was measured at this commit
//   --print       measures nothing, and prints the page from the file
//   --list        what would be measured, and how long each may take at most

import { parseArgs } from 'node:util'
import { endWhenInterrupted, isInterrupted } from '../../tools/ending.ts'
import { leadingComment } from '../../tools/help.ts'
import { changedFiles, measure, newestCommit, readMachine } from './measure.ts'
import { readMeasurements, writeMeasurements } from './page.ts'
import { commandOf, FIGURES, type Figure } from './table.ts'

const say = (text: string) => process.stdout.write(`${text}\n`)
const minutes = (since_ms: number) => `${((performance.now() - since_ms) / 60_000).toFixed(1)} min`

function refuse(sentence: string): void {
  process.stderr.write(`${sentence}\n`)
  process.exitCode = 2
}

async function main(): Promise<void> {
  const { values: options } = parseArgs({
    options: {
      only: { type: 'string', multiple: true },
      again: { type: 'boolean', default: false },
      print: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (options.help) return void process.stdout.write(leadingComment(import.meta.filename))
  if (options.print) return writeMeasurements(FIGURES, readMeasurements())
  const unknown = options.only?.find((name) => !FIGURES.some((one) => one.name === name))
  if (unknown !== undefined)
    return refuse(`There is no figure ${unknown}: ${FIGURES.map(({ name }) => name).join(', ')}.`)
  const commit = newestCommit()
  const isDone = (name: string) =>
    !options.again && readMeasurements().some((one) => one.name === name && one.commit === commit)
  const wanted = FIGURES.filter(
    ({ name }) => (options.only?.includes(name) ?? true) && !isDone(name),
  )
  const most = wanted.reduce((sum, { minutes_max }) => sum + minutes_max, 0)
  say(`${wanted.length} of ${FIGURES.length} figures at ${commit}, in ${most} minutes at most.`)
  if (options.list) {
    for (const one of wanted) say(`  ${commandOf(one)}   ${one.minutes_max} min at most`)
    return
  }
  const changed = changedFiles()
  if (changed.length > 0)
    return refuse(`Commit these first, or the commit says nothing:\n${changed.join('\n')}`)
  await measureAll(wanted, commit)
}

async function measureAll(wanted: readonly Figure[], commit: string): Promise<void> {
  endWhenInterrupted()
  const began_ms = performance.now()
  const machine = await readMachine()
  const failed: string[] = []
  for (const figure of wanted) {
    const one_ms = performance.now()
    const measured = await measure(figure, { commit, machine })
    if (isInterrupted()) return
    if ('failure' in measured) {
      failed.push(figure.name)
      say(`✖ ${commandOf(figure)}, ${minutes(one_ms)}: ${measured.failure}`)
    } else {
      const others = readMeasurements().filter(({ name }) => name !== figure.name)
      writeMeasurements(FIGURES, [...others, measured])
      say(`✔ ${commandOf(figure)}, ${minutes(one_ms)}`)
    }
  }
  say(`${wanted.length - failed.length} measured in ${minutes(began_ms)}.`)
  if (failed.length === 0) return
  process.stderr.write(`FAILED, and not written: ${failed.join(', ')}.\n`)
  process.exitCode = 1
}

await main()
