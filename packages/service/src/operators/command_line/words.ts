// Which operation is meant by the words that were typed, and what was meant by a word that is none.

import { misuse } from '../../lib/fault.ts'
import type { Operation } from '../table/operation.ts'

/** The longest names have three words: `aml reviews list`. */
const WORDS_MAX = 3

/** Finds the operation that the first words name. Throws Misuse, with the nearest words there
 *  are. */
export function findOperation(
  operations: readonly Operation[],
  args: readonly string[],
): { operation: Operation; rest: string[] } {
  for (let count = Math.min(WORDS_MAX, args.length); count > 0; count--) {
    const words = args.slice(0, count).join(' ')
    const operation = operations.find(({ cli }) => cli.words === words)
    if (operation) return { operation, rest: args.slice(count) }
  }
  const all = operations.map(({ cli }) => cli.words)
  const two = args.slice(0, 2).join(' ')
  const noun = wordsAfter(all, two).length > 0 ? two : (args[0] ?? '')
  const verb = args[noun === two ? 2 : 1] ?? ''
  const verbs = wordsAfter(all, noun)
  const choice = `${verbs.slice(0, -1).join(', ')} or ${verbs.at(-1)}`
  if (verbs.length > 0 && (verb === '' || verb.startsWith('-')))
    throw misuse(`${noun} what: ${choice}?`)
  if (verbs.length > 0)
    throw misuse(`There is no ${noun} ${verb}${nearest(verb, verbs)}: it is ${choice}.`)
  const nouns = [...new Set(all.map((words) => words.split(' ')[0]!))]
  throw misuse(`There is no command ${noun}${nearest(noun, nouns)}. --help lists them all.`)
}

/** The words that can follow a noun, each once. */
function wordsAfter(all: readonly string[], noun: string): string[] {
  const after = all.filter((words) => words.startsWith(`${noun} `))
  return [...new Set(after.map((words) => words.slice(noun.length + 1).split(' ')[0]!))]
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
