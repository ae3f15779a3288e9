// Which operation is meant by the words that were typed, and what was meant by a word that is none.

import { misuse } from '../lib/fault.ts'
import type { Operation } from '../operation/operation.ts'

/** Finds the operation that the first words name. Throws Misuse, with the nearest words there
 *  are. */
export function findOperation(
  operations: readonly Operation[],
  args: readonly string[],
): { operation: Operation; rest: string[] } {
  const [noun = '', verb = ''] = args
  for (const words of [`${noun} ${verb}`, noun]) {
    const operation = operations.find(({ cli }) => cli.words === words)
    if (operation) return { operation, rest: args.slice(words.split(' ').length) }
  }
  const all = operations.map(({ cli }) => cli.words.split(' '))
  const verbs = all.flatMap(([first, second]) =>
    first === noun && second !== undefined ? [second] : [],
  )
  const choice = `${verbs.slice(0, -1).join(', ')} or ${verbs.at(-1)}`
  if (verbs.length > 0 && (verb === '' || verb.startsWith('-')))
    throw misuse(`${noun} what: ${choice}?`)
  if (verbs.length > 0)
    throw misuse(`There is no ${noun} ${verb}${nearest(verb, verbs)}: it is ${choice}.`)
  const nouns = [...new Set(all.map(([first]) => first!))]
  throw misuse(`There is no command ${noun}${nearest(noun, nouns)}. --help lists them all.`)
}

/** ` (do you mean orders?)`, or nothing when no known word is near. */
export function nearest(word: string, known: readonly string[]): string {
  const near = known.filter(
    (one) => distance(word, one) <= 2 || (word.length > 1 && one.startsWith(word)),
  )
  return near.length === 0 ? '' : ` (do you mean ${near.join(' or ')}?)`
}

/** How many characters must be changed, put in or taken out to make one word of the other. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const above = row
    row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      row.push(Math.min(above[j]! + 1, row[j - 1]! + 1, above[j - 1]! + same))
    }
  }
  return row.at(-1)!
}
