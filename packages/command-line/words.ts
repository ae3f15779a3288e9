// Which command is meant by the words that were typed, and what was meant by a word that is none.

import { Misuse } from './misuse.ts'

/** The longest names have three words: `aml reviews list`. */
const WORDS_MAX = 3

/** Finds the command that the first words name. Throws Misuse, with the nearest words there are. */
export function findCommand<Command extends { words: string }>(
  commands: readonly Command[],
  args: readonly string[],
): { command: Command; rest: string[] } {
  for (let count = Math.min(WORDS_MAX, args.length); count > 0; count--) {
    const words = args.slice(0, count).join(' ')
    const command = commands.find((one) => one.words === words)
    if (command) return { command, rest: args.slice(count) }
  }
  const [first = '', second = '', third = ''] = args
  const of_two = verbsOf(commands, `${first} ${second}`).length > 0
  const [noun, verb] = of_two ? [`${first} ${second}`, third] : [first, second]
  const verbs = verbsOf(commands, noun)
  if (verbs.length > 0 && (verb === '' || verb.startsWith('-')))
    throw new Misuse(`${noun} what: ${choice(verbs)}?`)
  if (verbs.length > 0)
    throw new Misuse(`There is no ${noun} ${verb}${nearest(verb, verbs)}: it is ${choice(verbs)}.`)
  const near = nearest(noun, nounsOf(commands))
  throw new Misuse(`There is no command ${noun}${near}. --help lists them all.`)
}

/** `a, b or c` */
export const choice = (words: readonly string[]) =>
  words.length === 1 ? words[0]! : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`

export const nounsOf = (commands: readonly { words: string }[]): string[] => [
  ...new Set(commands.map(({ words }) => words.split(' ')[0]!)),
]

/** The words that can follow a noun, each once. */
export function verbsOf(commands: readonly { words: string }[], noun: string): string[] {
  const after = commands.filter(({ words }) => words.startsWith(`${noun} `))
  return [...new Set(after.map(({ words }) => words.slice(noun.length + 1).split(' ')[0]!))]
}

/** ` (do you mean orders?)`, or nothing when no known word is near. */
export function nearest(word: string, known: readonly string[]): string {
  const near = known.filter((one) => isNear(word, one))
  return near.length === 0 ? '' : ` (do you mean ${near.slice(0, 3).join(' or ')}?)`
}

/** Whether a word is the beginning of another, or has at most two letters that are wrong. */
function isNear(word: string, other: string): boolean {
  if (word.length > 1 && other.startsWith(word)) return true
  const wrong = (a: string, b: string, left: number): boolean => {
    if (left < 0) return false
    if (a === '' || b === '') return a.length + b.length <= left
    if (a[0] === b[0]) return wrong(a.slice(1), b.slice(1), left)
    const [shorter_a, shorter_b] = [a.slice(1), b.slice(1)]
    return (
      wrong(shorter_a, shorter_b, left - 1) ||
      wrong(shorter_a, b, left - 1) ||
      wrong(a, shorter_b, left - 1)
    )
  }
  return word.length > 2 && wrong(word, other, 2)
}
