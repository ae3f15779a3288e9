// Text for a terminal: no line of it is wider than 100 columns.

import { wrapped } from '../table/wrapped.ts'

const WIDTH = 100
/** What is longer stands on lines of its own, and what it means below it. */
const NAME_MAX = 36

/** The lines of a list of names with what each means, the meanings below one another. */
export function columns(rows: readonly (readonly [name: string, meaning: string])[]): string[] {
  const short = rows.map(([name]) => name.length).filter((length) => length <= NAME_MAX)
  const place = Math.max(0, ...short) + 4
  return rows.flatMap(([name, meaning]) => {
    const [first = '', ...others] = wrapped(name, WIDTH - 6)
    const names = [`  ${first}`, ...others.map((line) => `      ${line}`)]
    const meanings = wrapped(meaning, WIDTH - place)
    const beside = name.length <= NAME_MAX ? `${names.pop()!.padEnd(place)}${meanings.shift()}` : ''
    const below = meanings.map((line) => `${' '.repeat(place)}${line}`)
    return [...names, beside, ...below].map((line) => line.trimEnd()).filter((line) => line !== '')
  })
}
