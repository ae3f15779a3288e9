// Group commit. Calls that arrive while a batch is under way are collected and handed over together as the next one, so
// that one statement and one commit serve them all; when nothing is under way a call does not wait for others.

type Waiting<Item, Result> = { item: Item; resolve: (result: Result) => void; reject: (thrown: unknown) => void }

/** Joins calls into batches of at most `size_max`, one at a time, in the order of arrival. `run` returns one result for
 *  each item; when it throws, every call of that batch throws the same. */
export function batched<Item, Result>(
  size_max: number,
  run: (items: Item[]) => Promise<Result[]>,
): (item: Item) => Promise<Result> {
  const queue: Waiting<Item, Result>[] = []
  let under_way = false

  async function work() {
    under_way = true
    // Calls of the same turn of the event loop belong together.
    await new Promise<void>((resolve) => setImmediate(resolve))
    while (queue.length > 0) {
      const waiting = queue.splice(0, size_max)
      await run(waiting.map(({ item }) => item)).then(
        (results) => {
          for (const [i, { resolve }] of waiting.entries()) resolve(results[i]!)
        },
        (thrown: unknown) => {
          for (const { reject } of waiting) reject(thrown)
        },
      )
    }
    under_way = false
  }

  return (item) =>
    new Promise((resolve, reject) => {
      queue.push({ item, resolve, reject })
      if (!under_way) void work()
    })
}
