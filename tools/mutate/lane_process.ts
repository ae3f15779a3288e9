// A process that runs test files, one after the other, as those of `npm test` do: with a folder of
// its own for what it writes, and killed together with all that it has started.

import { fork } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dropDatabasesOf } from 'penstock-test/harness/database.ts'
import { ROOT } from '../source.ts'
import { NODE_OPTIONS } from '../test/lanes.ts'
import type { FileToRun, LaneMessage } from '../test/reporter.ts'

export const LANE = join(import.meta.dirname, '../test/lane.ts')

type LaneOptions = {
  /** The program: LANE, or one that does more. */
  program: string
  env?: Record<string, string>
  /** Titles of the tests that it runs; left out: all. */
  titles?: readonly string[] | undefined
  /** A test that is silent for this long hangs. */
  silence_ms_max: number
  /** Whether its first message says that it can be handed a file. */
  says_ready?: boolean
}

/** Why a file was not run to its end. */
export type Stop = 'hung' | 'ended' | 'told'

export type Lane<Message> = {
  /** Runs a test file to its end, or until `hear` says that it may stop. */
  run(file: string, hear: (message: Message) => 'stop' | undefined): Promise<Stop | undefined>
  /** Kills it, and removes what it leaves. */
  end(): Promise<void>
}

/** Tests that lane.ts adds to those of a file. */
const ADDED = ['what the file has started ends', 'the end of the file', 'the file loads']

const patternOf = (titles: readonly string[]) =>
  `^(?:${[...titles, ...ADDED].map((title) => RegExp.escape(title)).join('|')})$`

export function openLane<Message extends { what: string } = LaneMessage>({
  program,
  env = {},
  titles,
  silence_ms_max,
  says_ready = false,
}: LaneOptions): Lane<Message> {
  const folder = mkdtempSync(join(tmpdir(), 'lane-'))
  // Servers of PostgreSQL are another user's where tests run as root.
  chmodSync(folder, 0o1777)
  const child = fork(program, {
    execArgv: [...NODE_OPTIONS, ...(titles ? ['--test-name-pattern', patternOf(titles)] : [])],
    // Below `node --test` a process would tell its tests to that.
    env: { ...process.env, NODE_TEST_CONTEXT: undefined, TMPDIR: folder, ...env },
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    detached: true,
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const said_ready = new Promise((resolve) => child.once('message', resolve))
  const ready = says_ready ? Promise.race([said_ready, ended]) : undefined
  return {
    async run(file, hear) {
      await ready
      return new Promise((resolve) => {
        const stop = (why?: Stop) => {
          clearTimeout(timer)
          child.removeAllListeners('message')
          resolve(why)
        }
        const timer = setTimeout(stop, silence_ms_max, 'hung')
        child.on('message', (message: Message) => {
          timer.refresh()
          if (message.what === 'end') stop()
          else if (hear(message) === 'stop') stop('told')
        })
        void ended.then(() => stop('ended'))
        if (child.connected) child.send({ path: join(ROOT, file) } satisfies FileToRun)
      })
    },
    async end() {
      try {
        process.kill(-child.pid!, 'SIGKILL')
      } catch {
        // It has ended by itself, and so has all that it has started.
      }
      await ended
      await dropDatabasesOf(child.pid!)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
