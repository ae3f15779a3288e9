// The arguments of the long tests. Numbers are whole and at least 1: a run of nothing would find
// nothing, and pass.

import { parseArgs } from 'node:util'
import { Misuse } from 'penstock-service/lib/fault.ts'

type ExpectedArguments<Count extends string, Text extends string> = {
  /** With what they are when they are not given. */
  numbers?: Readonly<Record<Count, number>>
  texts?: readonly Text[]
  /** Whether there may be words that are no options. */
  words?: boolean
}

export type Arguments<Count extends string, Text extends string> = {
  numbers: Record<Count, number>
  texts: Partial<Record<Text, string>>
  words: string[]
  json: boolean
}

/** Reads them; --json may always be given. Throws a Misuse, one sentence, when something is not as
 *  it should be. */
export function readArguments<Count extends string = never, Text extends string = never>(
  args: string[],
  { numbers, texts = [], words = false }: ExpectedArguments<Count, Text>,
): Arguments<Count, Text> {
  const usual = Object.entries<number>(numbers ?? {})
  const { values, positionals } = parsed(args, [...usual.map(([name]) => name), ...texts], words)
  const { json, ...given } = values
  const counts = usual.map(([name, otherwise]) => [name, wholeOf(name, given[name]) ?? otherwise])
  return {
    numbers: Object.fromEntries(counts) as Record<Count, number>,
    texts: Object.fromEntries(texts.map((name) => [name, given[name]])) as Partial<
      Record<Text, string>
    >,
    words: positionals,
    json: json === true,
  }
}

function wholeOf(name: string, text: string | boolean | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^[1-9]\d{0,8}$/.test(String(text))) return Number(text)
  throw new Misuse(`--${name} takes a whole number from 1; this is ${JSON.stringify(text)}.`)
}

type ParsedArguments = {
  values: Record<string, string | boolean | undefined>
  positionals: string[]
}

function parsed(args: string[], names: string[], allowPositionals: boolean): ParsedArguments {
  const texts = Object.fromEntries(names.map((name) => [name, { type: 'string' } as const]))
  try {
    return parseArgs({ args, allowPositionals, options: { ...texts, json: { type: 'boolean' } } })
  } catch (thrown) {
    throw new Misuse(`${(thrown as Error).message.split(/\.\s/)[0]}.`)
  }
}
