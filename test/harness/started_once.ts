// What is dear to start and serves all test files of a process: a browser, a sandbox. The first
// test that needs one starts it.

import type { Browser } from 'playwright-core'
import { startBrowser } from './browser.ts'
import { atEndOfProcess } from './ends.ts'
import { type Sandbox, startSandbox } from './sandbox.ts'

type Closable = { close(): Promise<void> }

/** Starts something when it is first asked for. One that could not be started, or does not work
 *  any more, is started anew. */
function startedOnce<T extends Closable>(
  start: () => Promise<T>,
  works: (thing: T) => boolean,
): () => Promise<T> {
  let thing: Promise<T> | undefined
  const begin = async () => {
    const started = await start()
    atEndOfProcess(() => started.close())
    return started
  }
  return async () => {
    const before = await thing?.catch(() => undefined)
    if (!before || !works(before)) thing = begin()
    return thing!
  }
}

/** It draws without a process for a graphics card. */
export const sharedBrowser: () => Promise<Browser> = startedOnce(
  () => startBrowser(['--disable-gpu', '--in-process-gpu']),
  (browser) => browser.isConnected(),
)

/** For tests that leave prices, switches and the rows of other customers alone. */
export const sharedSandbox: () => Promise<Sandbox> = startedOnce(
  () => startSandbox(),
  () => true,
)
