// Runs a command of the repository that prints JSON as its last line, as somebody would type it.

import { spawn } from 'node:child_process'
import { atEnd } from './ending.ts'
import { ROOT } from './source.ts'

/** Between being asked to end and being ended. */
const GRACE_MS = 15_000

/** The last lines of a program that failed, and how much of each. */
const LINES_MAX = 5
const LINE_MAX = 2_000

export type Run = { values: unknown } | { failure: string }

/** Runs a program and reads what it prints. It has failed when it ends with another code than 0,
 *  prints no JSON, or takes too long: then it is ended, with all that it has started. */
export async function runJson(program: readonly string[], minutes_max: number): Promise<Run> {
  const [file, ...args] = program
  const child = spawn(file!, args, {
    cwd: ROOT,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output: Buffer[] = []
  const complaint: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => output.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => complaint.push(chunk))
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const signal = (name: NodeJS.Signals) => {
    try {
      process.kill(-child.pid!, name)
    } catch {
      // It has ended.
    }
  }
  const forget = atEnd(async () => {
    signal('SIGINT')
    const late = setTimeout(() => signal('SIGKILL'), GRACE_MS)
    await ended
    clearTimeout(late)
  })
  let late = false
  const limit = setTimeout(() => {
    late = true
    void forget()
  }, minutes_max * 60_000)
  const code = await ended
  clearTimeout(limit)
  await forget()
  const lines = Buffer.concat(output).toString().trim().split('\n')
  if (late) {
    return { failure: `it took more than ${minutes_max} minutes\n${endOf(lines)}`.trim() }
  }
  if (code !== 0) {
    const said = Buffer.concat(complaint).toString().trim().split('\n').slice(-12).join('\n')
    return { failure: `it ended with ${code}\n${said}\n${endOf(lines)}`.trim() }
  }
  const [last = ''] = lines.slice(-1)
  try {
    return { values: JSON.parse(last) as unknown }
  } catch {
    return { failure: `it printed no JSON but ${JSON.stringify(last.slice(0, 200))}` }
  }
}

/** Some print what they have found before the line that sums it up. */
const endOf = (lines: readonly string[]): string =>
  lines
    .slice(-LINES_MAX)
    .map((line) => line.slice(0, LINE_MAX))
    .join('\n')
