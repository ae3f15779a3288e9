// What is printed fits into a terminal: what is long is shortened step by step, the least wanted
// first, until its lines are narrow enough. Without a terminal the width is Infinity.

export type Column = { readonly heading: string; readonly cells: readonly string[]; right: boolean }

/** Of what is read on any terminal. */
const WIDTH = 100
/** A name that is longer stands on lines of its own, and what it means below it. */
const NAME_MAX = 36
const GAP = '  '
const [HEAD, TAIL] = [6, 6]
/** What has more letters without a blank is an id, an address, a hash or a URL. */
const WORD_MAX = 20
const TEXT_MAX = 24
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/

/** The lines of a text, broken at blanks, and behind a `|` between alternatives. A word that is
 *  wider than that stays whole, so that it can be copied. */
export function wrapped(text: string, width = WIDTH): string[] {
  const lines = ['']
  for (const word of text.split(/(?<=[ |])/)) {
    const line = `${lines.at(-1)}${word}`
    if (line.trimEnd().length <= width) lines[lines.length - 1] = line
    else lines.push(word)
  }
  return lines
    .map((line) => line.trimEnd())
    .filter((line, i) => line !== '' || i > 0 || lines.length === 1)
}

/** An id, an address or a hash with its middle left out. */
const shortWord = (text: string): string =>
  text.length > WORD_MAX && !/\s|:\/\//.test(text)
    ? `${text.slice(0, HEAD)}…${text.slice(-TAIL)}`
    : text

const cut = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length - 1)}…`

/** A time of the wire on the clock of this machine, which those who read it look at. */
function localTime(text: string): string {
  if (!TIME.test(text)) return text
  const at = new Date(text)
  const two = (number: number) => String(number).padStart(2, '0')
  const day = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join('-')
  return `${day} ${[at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(':')}`
}

const toTheMinute = (text: string): string =>
  text.replace(/^(\d{4}-\d\d-\d\d \d\d:\d\d):\d\d$/, '$1')

const widthOf = ({ heading, cells }: Column) =>
  Math.max(heading.length, ...cells.map((text) => text.length))
const widthOfAll = (columns: readonly Column[]): number =>
  columns.reduce((sum, one) => sum + widthOf(one), GAP.length * (columns.length - 1))

const changed = (columns: readonly Column[], from: number, change: (text: string) => string) =>
  columns.map((one, i) => (i < from ? one : { ...one, cells: one.cells.map(change) }))

/** What is done to a table that is too wide, in this order. The first column, by which a row is
 *  named, stays whole for longest. */
const STEPS: readonly ((columns: readonly Column[]) => readonly Column[])[] = [
  (columns) => changed(columns, 1, shortWord),
  (columns) => changed(columns, 1, toTheMinute),
  (columns) => changed(columns, 1, (text) => cut(text, TEXT_MAX)),
  (columns) => changed(columns, 0, shortWord),
  (columns) => changed(columns, 0, (text) => cut(text, TEXT_MAX)),
]

/** The table in lines of at most this width, and a last one that names what had no room. */
export function tableIn(all: readonly Column[], width: number): string[] {
  if (width === Number.POSITIVE_INFINITY) return linesOf(all)
  const filled = all.filter(({ cells }, i) => i === 0 || cells.some((text) => text !== ''))
  let columns: readonly Column[] = changed(filled, 0, localTime)
  for (const step of STEPS) if (widthOfAll(columns) > width) columns = step(columns)
  const left_out: string[] = []
  while (widthOfAll(columns) > width && columns.length > 1) {
    left_out.unshift(columns.at(-1)!.heading)
    columns = columns.slice(0, -1)
  }
  const more = left_out.length === 0 ? [] : wrapped(`with --wide: ${left_out.join(', ')}`, width)
  return [...linesOf(columns), ...more]
}

function linesOf(columns: readonly Column[]): string[] {
  const widths = columns.map(widthOf)
  const rows = columns[0]?.cells.map((_, row) => columns.map(({ cells }) => cells[row]!)) ?? []
  const pad = (text: string, i: number) =>
    columns[i]!.right ? text.padStart(widths[i]!) : text.padEnd(widths[i]!)
  const lines = [columns.map(({ heading }) => heading), ...rows]
  return lines.map((line) => line.map(pad).join(GAP).trimEnd())
}

/** A field with its value beside it, or below it where that is too narrow. A word that is wider
 *  than the terminal stays whole: broken, a link or a token cannot be copied. */
export function fieldLines(name: string, value: string, width: number): string[] {
  if (width === Number.POSITIVE_INFINITY) return [`${name}${value}`]
  const text = localTime(value)
  if (name.length + text.length <= width) return [`${name}${text}`]
  const words = text.split(/(?<=[ |])/).map((word) => word.trimEnd().length)
  const is_beside = Math.max(...words) <= width - name.length
  const place = is_beside ? name.length : 2
  const lines = wrapped(text, width - place).map((line) => `${' '.repeat(place)}${line}`)
  return is_beside ? [name + lines[0]!.slice(place), ...lines.slice(1)] : [name.trimEnd(), ...lines]
}

/** A line of a stream: words are shortened until it fits. */
export function lineIn(text: string, width: number): string {
  if (text.length <= width) return text
  const words = text.split(' ').map(localTime)
  const short = [words, words.map(shortWord)].map((some) => some.join(' '))
  return cut(short.find((line) => line.length <= width) ?? short[1]!, width)
}

/** The lines of a list of names with what each means, the meanings below one another. */
export function columns(
  rows: readonly (readonly [name: string, meaning: string])[],
  width = WIDTH,
): string[] {
  const short = rows.map(([name]) => name.length).filter((length) => length <= NAME_MAX)
  const place = Math.max(0, ...short) + 4
  return rows.flatMap(([name, meaning]) => {
    const [first = '', ...others] = wrapped(name, width - 6)
    const names = [`  ${first}`, ...others.map((line) => `      ${line}`)]
    const meanings = wrapped(meaning, width - place)
    const beside = name.length <= NAME_MAX ? `${names.pop()!.padEnd(place)}${meanings.shift()}` : ''
    const below = meanings.map((line) => `${' '.repeat(place)}${line}`)
    return [...names, beside, ...below].map((line) => line.trimEnd()).filter((line) => line !== '')
  })
}
