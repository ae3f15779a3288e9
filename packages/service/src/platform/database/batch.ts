// Group commit. Calls that arrive while a batch is under way are collected and handed over together
// as the next one, so that one statement and one commit serve them all; when nothing is under way a
// call does not wait for others. Under a load that leaves the processor little rest, batches would
// be small and many, and cost most of what there is: so one that has served several may be followed
// by a pause, in which the next becomes larger.

import { here, type Place, tracedFor } from '../../lib/tracing.ts'

type QueuedItem<Item, Result> = {
  item: Item
  place: Place
  resolve: (result: Result) => void
  reject: (thrown: unknown) => void
}

const noPause = async () => {}

/** Joins calls into batches of at most `size_max`, in the order of arrival. `run` returns one
 *  result for each item; when it throws, every call of that batch throws the same. The next batch
 *  begins when this one has ended, or when it says that the next may: when it holds the locks for
 *  which the next must wait, say. `pause` begins with a batch of several, and the next waits for
 *  its end too, unless as many wait as it can take. */
export function batched<Item, Result>(
  size_max: number,
  run: (items: Item[], next_may_begin: () => void) => Promise<Result[]>,
  pause: (() => Promise<unknown>) | undefined = noPause,
): (item: Item) => Promise<Result> {
  const queue: QueuedItem<Item, Result>[] = []
  let under_way = false

  async function work() {
    under_way = true
    // Calls of the same turn of the event loop belong together.
    await new Promise<void>((resolve) => setImmediate(resolve))
    while (queue.length > 0) {
      const waiting = queue.splice(0, size_max)
      const paused = waiting.length > 1 && queue.length < size_max ? pause() : undefined
      await new Promise<void>((next_may_begin) => {
        const items = waiting.map(({ item }) => item)
        const places = waiting.map(({ place }) => place)
        tracedFor(places, () => run(items, next_may_begin))
          .then(
            (results) => {
              for (const [i, { resolve }] of waiting.entries()) resolve(results[i]!)
            },
            (thrown: unknown) => {
              for (const { reject } of waiting) reject(thrown)
            },
          )
          .finally(next_may_begin)
      })
      await paused
    }
    under_way = false
  }

  return (item) =>
    new Promise((resolve, reject) => {
      queue.push({ item, place: here(), resolve, reject })
      if (!under_way) void work()
    })
}
