// What the programs that run for long share: their log, how they are asked to stop, the file that
// says that they are ready, and how they end.

import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { systemClock } from '../../lib/clock.ts'
import { failureOf, Misuse } from '../../lib/fault.ts'
import { requireWritable } from '../../lib/files.ts'
import { jsonLog, type Log, plainFields, thrownFields } from '../../lib/log.ts'

export const print = (line: string) => process.stdout.write(`${line}\n`)

/** A value that can be no other line and moves no cursor. */
const plain = (value: unknown) => String(value).replace(/[\p{Cc}\u2028\u2029]/gu, ' ')

/** On a terminal a line for reading, elsewhere JSON. */
export function processLog(): Log {
  if (!process.stdout.isTTY) return jsonLog((line) => process.stderr.write(line), systemClock.now)
  return (event, fields = {}) => {
    const parts = Object.entries(plainFields(fields)).filter(
      ([name]) => name !== 'stack' && name !== 'request_id',
    )
    const text = parts
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `${name}=${plain(value)}`)
      .join(' ')
    process.stderr.write(`${systemClock.now().toISOString().slice(11, 19)} ${event} ${text}\n`)
  }
}

/** What nobody caught is a bug whose reach nobody knows: it is logged, and the process ends, for
 *  its supervisor to start another. Every row is where it can be taken up again. */
function endOnBug(log: Log): void {
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (thrown: unknown) => {
      log('crashed', { why: event, ...thrownFields(thrown) })
      process.exit(1)
    })
  }
}

/** Resolves at the first request to stop. A request while nothing is ready yet, and a second one,
 *  end the process at once: nothing here needs a farewell to be right when it is started again. */
export function askedToStop(): { asked: Promise<void>; ready(): void } {
  let ready = false
  const asked = new Promise<void>((resolve) => {
    const ask = () => {
      if (!ready) process.exit(130)
      ready = false
      resolve()
    }
    process.on('SIGINT', ask)
    process.on('SIGTERM', ask)
  })
  return {
    asked,
    ready() {
      ready = true
    },
  }
}

/** A file of an earlier start would tell anyone who waits for it that this one is ready. */
export async function clearReady(ready_file: string | undefined): Promise<void> {
  if (ready_file === undefined) return
  await requireWritable(dirname(ready_file))
  await rm(ready_file, { force: true }).catch((thrown: NodeJS.ErrnoException) => {
    throw new Misuse(`--ready-file ${ready_file} cannot be written: ${thrown.code}.`)
  })
}

/** What a program can do, and how it reads its arguments and its environment. */
export type Program<Config> = {
  commands: Readonly<Record<string, (config: Config) => Promise<void>>>
  readConfig(args: readonly string[], env: NodeJS.ProcessEnv): Config & { help: boolean }
  /** The help of one of the commands. */
  usage(command: string): string
}

/** Runs the command that the arguments of this process name, the first one when they name none, and
 *  ends the process with 2 after a usage error and with 1 when it failed. */
export function runProgram<Config>(program: Program<Config>): void {
  runNamed(program, process.argv.slice(2)).catch((thrown: unknown) => {
    const { sentence, exit_code } = failureOf(thrown)
    process.stderr.write(`${sentence}\n`)
    process.exit(exit_code)
  })
}

async function runNamed<Config>(
  { commands, readConfig, usage }: Program<Config>,
  args: string[],
): Promise<void> {
  const [first = ''] = Object.keys(commands)
  const [command = first, ...rest] = args[0]?.startsWith('-') ? [first, ...args] : args
  const run = Object.hasOwn(commands, command) ? commands[command] : undefined
  if (!run)
    throw new Misuse(`There is no command ${command}: it is ${Object.keys(commands).join(', ')}.`)
  const config = readConfig(rest, process.env)
  endOnBug(processLog())
  if (config.help) process.stdout.write(usage(command))
  else await run(config)
}
