// What a shell completes: nouns, verbs, options, words of options, types of events, profiles, and
// the ids of the list that was printed last. The scripts ask this program.

import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { nounsOf, verbsOf } from 'penstock-command-line/words.ts'
import { type Command, field, fieldsOf } from '../line/command.ts'
import { EVENT_TYPES } from '../line/endpoints.ts'
import { Misuse } from '../line/errors.ts'
import type { Io } from '../line/io.ts'
import type { Profiles } from '../line/profiles.ts'
import { COMMON, optionName } from '../line/reading.ts'

const IDS_MAX = 100

const SCRIPTS = {
  bash: `_penstock() {
  local IFS=$'\\n'
  COMPREPLY=($(penstock complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _penstock penstock
`,
  zsh: `#compdef penstock
_penstock() {
  local -a found
  found=("\${(@f)$(penstock complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  compadd -a found
}
compdef _penstock penstock
`,
  fish: `function __penstock
  penstock complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null
end
complete -c penstock -f -a '(__penstock)'
`,
}

/** The commands about completion, which know all others. */
export const completionCommands = (all: () => readonly Command[]): readonly Command[] => [
  {
    words: 'completion',
    summary: 'Prints what makes a shell complete: source <(penstock completion bash)',
    operands: ['shell'],
    own: [field('shell', '', { words: Object.keys(SCRIPTS), needed: true })],
    async run({ own }) {
      const text = SCRIPTS[own.shell as keyof typeof SCRIPTS]
      return { value: { script: text }, text }
    },
  },
  {
    words: 'complete',
    summary: 'Prints what may stand in place of the last word; for the scripts of completion',
    operands: ['words'],
    own: [field('words', 'what was typed so far, after --', { type: 'lines' })],
    async run({ own, io, profiles }) {
      const { words = [] } = own as { words?: string[] }
      const found = await candidates(all(), words, { io, profiles })
      return { value: found, text: found.map((one) => `${one}\n`).join('') }
    },
  },
]

/** What the last of these words may become. */
async function candidates(
  commands: readonly Command[],
  words: readonly string[],
  { io, profiles }: { io: Io; profiles: Profiles },
): Promise<string[]> {
  const last = words.at(-1) ?? ''
  const before = words.slice(0, -1)
  const found = await possible(commands, before, last, { io, profiles })
  return [...new Set(found)].filter((one) => one.startsWith(last)).sort()
}

async function possible(
  commands: readonly Command[],
  before: readonly string[],
  last: string,
  { io, profiles }: { io: Io; profiles: Profiles },
): Promise<string[]> {
  const [noun, verb] = before
  if (noun === undefined) return nounsOf(commands).filter((one) => one !== 'complete')
  const command =
    commands.find(({ words }) => words === `${noun} ${verb ?? ''}`) ??
    commands.find(({ words }) => words === noun)
  if (!command) return before.length === 1 ? verbsOf(commands, noun) : []
  const { body, own } = fieldsOf(command)
  const all = [...body, ...own, ...COMMON]
  const option = all.find((one) => optionName(one) === before.at(-1) && one.type !== 'yes')
  if (!option && last.startsWith('-')) return all.map(optionName)
  const typed = before.slice(command.words.split(' ').length).filter((one) => !/^-/.test(one))
  const names = command.operands ?? []
  const meant =
    option ?? all.find(({ name }) => name === names[Math.min(typed.length, names.length - 1)])
  if (!meant) return []
  if (meant.words) return [...meant.words]
  if (/^types?$/.test(meant.name)) return [...EVENT_TYPES]
  if (meant.name === 'profile' || command.words.startsWith('profiles '))
    return Object.keys((await profiles.read()).profiles)
  const of_noun = meant.name === 'webhook_id' ? 'webhooks' : noun
  return /^(id|webhook_id|number|order)$/.test(meant.name) ? rememberedIds(io.env, of_noun) : []
}

const fileOf = (env: Io['env']): string =>
  join(env.XDG_CACHE_HOME || join(env.HOME || homedir(), '.cache'), 'penstock', 'ids.json')

/** A shell puts them into a line as they are, where $(…) would be run. */
const isPlain = (id: unknown) => typeof id === 'string' && /^[\w.:-]{1,128}$/.test(id)

/** The ids of the things of a noun, as they were last listed. */
async function rememberedIds(env: Io['env'], noun: string): Promise<string[]> {
  const kept = await readAll(env)
  const ids: unknown = Object.hasOwn(kept, noun) ? kept[noun] : undefined
  return Array.isArray(ids) ? ids.filter(isPlain) : []
}

/** What was typed, with the whole id in place of one that a list has shortened. Throws Misuse. */
export async function withWholeIds(
  args: readonly string[],
  env: Io['env'],
): Promise<readonly string[]> {
  const parts = (text: string) => text.match(/^([\w.:-]+)…([\w.:-]+)$/)?.slice(1)
  if (!args.some(parts)) return args
  const kept = Object.values(await readAll(env))
    .flat()
    .filter(isPlain)
  return args.map((text) => {
    const [head, tail] = parts(text) ?? []
    if (head === undefined) return text
    const found = kept.filter((id) => id.startsWith(head) && id.endsWith(tail!))
    if (new Set(found).size === 1) return found[0]!
    throw new Misuse(`${text} is shortened, and not in the list that was printed last: see --wide.`)
  })
}

/** Keeps the ids of what was listed. That nothing can be kept is no failure. */
export async function rememberIds(
  env: Io['env'],
  noun: string,
  rows: readonly object[],
): Promise<void> {
  const ids = (rows as { id?: unknown; number?: unknown }[])
    .flatMap(({ id, number }) => (typeof id === 'string' ? [id] : number ? [String(number)] : []))
    .slice(0, IDS_MAX)
  if (ids.length === 0) return
  const kept = { ...(await readAll(env)), [noun]: ids }
  const file = fileOf(env)
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    .then(() => writeFile(file, JSON.stringify(kept), { mode: 0o600 }))
    .catch(() => {})
}

const readAll = (env: Io['env']): Promise<Record<string, string[]>> =>
  readFile(fileOf(env), 'utf8')
    .then((text) => JSON.parse(text) as Record<string, string[]>)
    .catch(() => ({}))
