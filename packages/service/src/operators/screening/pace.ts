// How long it takes to read the past of the chain from a node.

/** Blocks that a node gives in one answer; the receipts of each are one more. */
const BLOCKS_AT_ONCE = 99
/** Requests a day of a free key of TronGrid. */
const KEY_REQUESTS = 100_000
const DAY_SECONDS = 86_400

/** Requests for all blocks, what a key takes for them, and how long it goes on at this pace. */
export function paceText({
  done,
  whole,
  seconds,
}: {
  done: number
  whole: number
  seconds: number
}): string {
  const requests = whole + Math.ceil(whole / BLOCKS_AT_ONCE)
  const days = rounded(requests / KEY_REQUESTS)
  const all = `${requests} requests, ${days} days of a free TronGrid key`
  if (done <= 0 || seconds <= 0) return `${all};`
  const pace = done / seconds
  const left = (whole - done) / pace / DAY_SECONDS
  return `${all}; ${rounded(pace)} blocks/s, ${rounded(left)} days left;`
}

const rounded = (value: number) => (value < 10 ? value.toFixed(1) : Math.round(value).toString())
