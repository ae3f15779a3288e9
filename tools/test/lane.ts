// One of the processes that `npm test` shares its files among. It runs those that it is handed, one
// after the other, so that what takes long to make is made once for many of them: the loaded
// service, databases, and connections that know their statements.

import hooks from 'node:async_hooks'
import { pathToFileURL } from 'node:url'
import { END_OF_FILE, type FileToRun, tell, textOf } from './reporter.ts'

// node:test follows every promise and socket, to know which test a stray error belongs to. That is
// a quarter of the time of tests that talk to a database; here a stray error fails the whole file.
const nothing = { enable: () => nothing, disable: () => nothing }
hooks.createHook = () => nothing
for (const event of ['uncaughtException', 'unhandledRejection'])
  process.on(event, (thrown: unknown) => {
    const failure = { name: event, line: undefined, text: textOf(thrown) }
    tell({ what: 'failure', ...failure }, () => process.exit(1))
  })

// Not before the line above.
const { test } = await import('node:test')
const { endFile, hasOwnEnd } = await import('penstock-test/harness/ends.ts')

process.on('message', ({ path }: FileToRun) => void run(path))

/** Without the process above nobody hears what becomes of the file. */
const GOODBYE_MS_MAX = 10_000
let file_runs = false
process.once('disconnect', () => {
  if (!file_runs) return
  setTimeout(() => process.exit(1), GOODBYE_MS_MAX)
  void endFile().then(
    () => process.exit(1),
    () => process.exit(1),
  )
})

async function run(path: string): Promise<void> {
  file_runs = true
  try {
    await import(pathToFileURL(path).href)
  } catch (thrown) {
    // A file that does not load is a test that fails.
    void test('the file loads', () => Promise.reject(thrown))
  }
  if (hasOwnEnd()) void test('what the file has started ends', endFile)
  // Tests run in the order in which they are made: when this one runs, those of the file have.
  void test(END_OF_FILE, () => {
    file_runs = false
  })
}
