// One of the processes that `npm test` shares its files among. It runs those that it is handed, one
// after the other, so that what takes long to make is made once for many of them: the loaded
// service, databases, and connections that know their statements.

import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { END_OF_FILE, type FileToRun } from './reporter.ts'

process.on('message', ({ path }: FileToRun) => void run(path))

async function run(path: string): Promise<void> {
  try {
    await import(pathToFileURL(path).href)
  } catch (thrown) {
    // A file that does not load is a test that fails.
    void test('the file loads', () => Promise.reject(thrown))
  }
  // Tests run in the order in which they are made: when this one runs, those of the file have.
  void test(END_OF_FILE, () => {})
}
