// One of the processes that record which lines each test executes: a process of `npm test`, with
// V8's own coverage read between one test and the next. What processes that a test file starts
// execute is read from what they leave when they end, and belongs to all tests of the file.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { Session } from 'node:inspector'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { END_OF_FILE } from '../test/reporter.ts'
import { executedLines, type FileLines, type ScriptCoverage } from './lines.ts'

/** Its messages beside those of every lane. */
export type RecordingMessage =
  | { what: 'ready' }
  /** No test: what the file executes before its first one, or in processes of its own. */
  | { what: 'lines'; test: string | undefined; lines: FileLines }

const tell = (message: RecordingMessage) => process.send?.(message)

const session = new Session()
session.connect()
session.post('Profiler.enable')
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })

/** The lines of our source that have been executed since the last call, by path. */
function takeLines(): FileLines {
  let scripts: ScriptCoverage[] = []
  session.post('Profiler.takePreciseCoverage', (failure, answer) => {
    if (failure) throw failure
    scripts = answer.result
  })
  return executedLines(scripts)
}

/** The coverage of processes that are started from here. */
const left = mkdtempSync(join(tmpdir(), 'coverage-'))
process.env.NODE_V8_COVERAGE = left

function takeLeft(): ScriptCoverage[] {
  return readdirSync(left).flatMap((name) => {
    const path = join(left, name)
    const { result }: { result: ScriptCoverage[] } = JSON.parse(readFileSync(path, 'utf8'))
    rmSync(path)
    return result
  })
}

// This makes node:test cheaper, and must come first.
await import('../test/lane.ts')
const { beforeEach } = await import('node:test')

let test_name: string | undefined
beforeEach((context) => {
  if (!('name' in context)) return
  tell({ what: 'lines', test: test_name, lines: takeLines() })
  test_name = context.name
  if (test_name === END_OF_FILE)
    tell({ what: 'lines', test: undefined, lines: executedLines(takeLeft()) })
})
process.on('exit', () => rmSync(left, { recursive: true, force: true }))
tell({ what: 'ready' })
