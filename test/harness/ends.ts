// Ends what test files have started. Under `npm test` several files share a process; a hook of
// node:test would hold for all of them. Here a file has an end, and the process has one.

import { after } from 'node:test'

type Close = () => unknown

const of_file: Close[] = []
const of_process: Close[] = []

/** What was started last ends first. Throws what was thrown first, when all have ended. */
async function closeAll(closers: Close[]): Promise<void> {
  const thrown: unknown[] = []
  for (const close of closers.splice(0).reverse()) {
    try {
      await close()
    } catch (error) {
      thrown.push(error)
    }
  }
  if (thrown.length > 0) throw thrown[0]
}

/** Runs after the last test of the file that is running. To be called when the file is loaded, not
 *  from within a test. */
export const atEndOfFile = (close: Close): void => void of_file.push(close)

/** Runs when the process has no more files to run. */
export const atEndOfProcess = (close: Close): void => void of_process.push(close)

export const hasOwnEnd = (): boolean => of_file.length > 0
export const endFile = (): Promise<void> => closeAll(of_file)

if (process.connected)
  process.once('disconnect', () => {
    closeAll(of_process).catch(() => process.exit(1))
  })
else
  after(async () => {
    await endFile()
    await closeAll(of_process)
  })
