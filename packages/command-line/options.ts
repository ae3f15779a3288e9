// What was typed after the words of a command, sorted: which option got which texts, and what is
// left for the operands.

import { parseArgs } from 'node:util'
import { Misuse } from './misuse.ts'
import { choice, nearest } from './words.ts'

export type Option = {
  /** `--since`. */
  name: string
  /** What stands for its value in the help; empty: it has none. */
  value: string
  /** What is meant when it is typed without a value. */
  bare?: string | undefined
  /** `--no-since` is the same without. */
  with_no?: boolean
}

/** The texts that each option was given, `no` standing for `--no-…`, and all others. Throws
 *  Misuse. */
export function sortTyped<One extends Option>(
  words: string,
  options: readonly One[],
  args: readonly string[],
): { given: Map<One, string[]>; left: string[] } {
  const known = new Map(options.map((one) => [one.name, one]))
  const withBare = (arg: string, i: number) => {
    const { bare } = known.get(arg) ?? {}
    const next = args[i + 1]
    return bare !== undefined && (next === undefined || next.startsWith('-'))
      ? `${arg}=${bare}`
      : arg
  }
  const types = options.map(({ name, value }) => [
    name.slice(2),
    {
      type: value === '' ? 'boolean' : 'string',
      ...(name === '--help' && { short: 'h' }),
    } as const,
  ])
  const { tokens } = parseArgs({
    args: args.map(withBare),
    strict: false,
    tokens: true,
    options: Object.fromEntries(types),
  })
  const given = new Map<One, string[]>()
  const left: string[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') left.push(token.value)
    if (token.kind !== 'option') continue
    const { rawName: name, value, inlineValue } = token
    const plain = known.get(`--${token.name}`)
    const denied = known.get(`--${token.name.replace(/^no-/, '')}`)
    const one = plain ?? (denied?.with_no && denied.value === '' ? denied : undefined)
    if (one === undefined)
      throw new Misuse(`${words} has no option ${name}${nearest(name, [...known.keys()])}.`)
    if (one.value === '' && value !== undefined) throw new Misuse(`${name} takes no value.`)
    // An option's name where its value should be: the value was forgotten.
    if (one.value !== '' && (value === undefined || (!inlineValue && value.startsWith('--'))))
      throw new Misuse(`${name} has no value: ${name} ${one.value}.`)
    given.set(one, [...(given.get(one) ?? []), plain ? (value ?? '') : 'no'])
  }
  return { given, left }
}

/** One of a list of words. Throws Misuse. */
export function readWord(words: readonly string[], text: string, name: string): string {
  if (words.includes(text)) return text
  throw new Misuse(`${name} ${text}${nearest(text, words)}: it is ${choice(words)}.`)
}
