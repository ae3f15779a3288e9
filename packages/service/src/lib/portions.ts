// Work that is done in portions of a few milliseconds, so that whatever else the process does gets
// its turn between them.

import { setImmediate as turnOfLoop } from 'node:timers/promises'

/** Does all that is left, with a turn of the event loop after each portion. */
export async function finished<T>(
  work: AsyncGenerator<undefined, T> | Generator<undefined, T>,
): Promise<T> {
  for (;;) {
    const portion = await work.next()
    if (portion.done) return portion.value
    await turnOfLoop()
  }
}

/** Does the work for each item, `at_once` of them at a time, and begins them in their order. */
export async function eachAtOnce<Item>(
  items: readonly Item[],
  at_once: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const queue = items.values()
  await Promise.all(
    Array.from({ length: at_once }, async () => {
      for (const item of queue) await work(item)
    }),
  )
}
