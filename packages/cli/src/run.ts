// One command, from what was typed to its exit code.

import { lineIn } from 'penstock-command-line/fitting.ts'
import { findCommand } from 'penstock-command-line/words.ts'
import { Penstock } from 'penstock-sdk'
import { rememberIds, withWholeIds } from './commands/completion.ts'
import { COMMANDS } from './commands/table.ts'
import type { Command, Invocation, Outcome } from './line/command.ts'
import { EXIT, endingOf } from './line/ending.ts'
import { ENDPOINTS } from './line/endpoints.ts'
import { Misuse } from './line/errors.ts'
import { helpOf, overview } from './line/help.ts'
import type { Io } from './line/io.ts'
import { cleaned, jsonText, tableLines, valueText } from './line/printing.ts'
import { Profiles } from './line/profiles.ts'
import { readArguments } from './line/reading.ts'

/** Runs one command. Returns the exit code. */
export async function runCommand(
  args: readonly string[],
  version: string,
  io: Io,
): Promise<number> {
  let command: Command | undefined
  const json = args.includes('--json')
  try {
    const [first = '--help'] = args
    if (/^(--version|-v)$/.test(first)) io.out(`${version}\n`)
    else if (/^(--help|-h|help)$/.test(first)) io.out(overview(COMMANDS, io.columns))
    else if (args.length === 2 && /^(--help|-h)$/.test(args[1]!) && isNoun(first)) {
      const some = COMMANDS.filter(({ words }) => words.startsWith(`${first} `))
      io.out(overview(some, io.columns))
    } else {
      const found = findCommand(COMMANDS, args)
      command = found.command
      return await runFound(command, found.rest, io)
    }
    return EXIT.done
  } catch (thrown) {
    if (io.signal.aborted && thrown === io.signal.reason) return EXIT.interrupted
    // `call` is typed with its path.
    const path = command?.path ?? args.find((one) => Object.hasOwn(ENDPOINTS, one))
    const lineWith = (more: readonly string[]) => lineOf(args, more)
    const { code, sentence, error, external_id } = endingOf(thrown, { command, path, lineWith })
    if (json) {
      const { key, request_id } = error ?? {}
      const said = { code: error?.code, key, error: sentence, request_id, external_id, exit: code }
      io.err(jsonText(said))
    } else io.err(`${sentence.split('\n').map(cleaned).join('\n')}\n`)
    return io.signal.aborted ? EXIT.interrupted : code
  }
}

const isNoun = (word: string) =>
  COMMANDS.some(({ words }) => words.startsWith(`${word} `)) &&
  !COMMANDS.some(({ words }) => words === word)

/** The line to type again, for a shell: with more options, and without an id that it had. */
function lineOf(args: readonly string[], more: readonly string[]): string {
  const kept = args.filter((one, i) => {
    const named = (text: string | undefined) => /^--(external-id|idempotency-key)$/.test(text ?? '')
    return !named(one) && !named(args[i - 1]) && !/^--(external-id|idempotency-key)=/.test(one)
  })
  // After -- nothing is an option.
  const end = kept.includes('--') ? kept.indexOf('--') : kept.length
  return ['penstock', ...kept.toSpliced(end, 0, ...more).map(quoted)].join(' ')
}

const quoted = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

async function runFound(command: Command, rest: readonly string[], io: Io): Promise<number> {
  const { common, body, own } = readArguments(command, await withWholeIds(rest, io.env))
  if (common.help === true) {
    io.out(helpOf(command, io.columns))
    return EXIT.done
  }
  const profiles = new Profiles(io.env)
  const calls = command.path !== undefined || command.also !== undefined
  const needs_access = calls && command.offline?.(own) !== true
  const access = needs_access ? await profiles.access(common.profile as string) : undefined
  const penstock = access && clientOf(access)
  const width = common.wide === true ? Number.POSITIVE_INFINITY : widthOf(io)
  const outcome = await command.run({
    body,
    own: { ...own, ...(common.profile === undefined ? {} : { profile: common.profile }) },
    io,
    profiles,
    get penstock() {
      return penstock!
    },
    get access() {
      return access!
    },
    json: common.json === true,
    width,
    note: (text) => (common.quiet === true ? undefined : io.err(`${cleaned(text)}\n`)),
  } satisfies Invocation)
  return print(command, outcome, { json: common.json === true, width, io })
}

function clientOf({
  url,
  token,
  secret,
}: {
  url: string
  token: string
  secret: string
}): Penstock {
  try {
    return new Penstock({ url, token, secret })
  } catch (thrown) {
    throw new Misuse((thrown as Error).message)
  }
}

/** What is narrower than this is not legible, and is wrapped by the terminal. */
const WIDTH_MIN = 40
const widthOf = ({ columns = Number.POSITIVE_INFINITY }: Io) => Math.max(columns, WIDTH_MIN)

async function print(
  command: Command,
  outcome: Outcome,
  { json, width, io }: { json: boolean; width: number; io: Io },
): Promise<number> {
  if ('value' in outcome) {
    const { value, text, ok = true } = outcome
    io.out(json ? jsonText(value, 2) : (text ?? valueText(value, width)))
    return ok ? EXIT.done : EXIT.refused
  }
  const { rows, columns, line } = outcome
  const read: object[] = []
  for await (const row of rows) {
    if (json) io.out(jsonText(row))
    else if (line) io.out(`${lineIn(cleaned(line(row as never)), width)}\n`)
    if (!line) read.push(row)
  }
  if (!json && !line) io.out(`${tableLines(read as never, columns, width).join('\n')}\n`)
  if (!line) await rememberIds(io.env, command.words.split(' ')[0]!, read)
  return EXIT.done
}
