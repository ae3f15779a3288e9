// `npm run torture -- idle`: what a service asks of its node while blocks come and nothing is sold:
// two API processes and two workers, then as many with four workers. The work that one process can
// do for all must be done by one, so both may ask about the same, and little.

import { setTimeout as delay } from 'node:timers/promises'
import { readArguments } from '../../tools/arguments.ts'
import { NodeFront } from './relays.ts'
import { Rig, type Role } from './rig.ts'

const say = (line: string) => process.stdout.write(`${line}\n`)

const BLOCK_MS = 3_000
/** In three minutes: 250,000 a day. */
const REQUESTS_MAX_PER_MINUTE = 520 / 3
/** That much the one may ask more or less than the other. */
const DIFFERENCE_MAX = 0.1
/** What comes with the start is over. */
const SETTLED_MS = 10_000

type Idle = { workers: number; requests: number; by_path: Record<string, number> }

/** Counts what all processes together ask in a time in which blocks come as on the network. */
export async function countIdle(workers: number, counted_ms: number): Promise<Idle> {
  let front: NodeFront | undefined
  const rig = await Rig.open({
    async node_urls(chain) {
      front = new NodeFront(chain)
      return [await front.listen()]
    },
  })
  try {
    const roles: Role[] = ['api', 'api', ...Array<Role>(workers).fill('worker')]
    await Promise.all(roles.map((role) => rig.start(role)))
    await rig.fund()
    rig.keepMining(BLOCK_MS)
    await delay(SETTLED_MS)
    const { requests: counts } = front!
    counts.clear()
    await delay(counted_ms)
    const by_path = Object.fromEntries([...counts].sort(([, a], [, b]) => b - a))
    const requests = Object.values(by_path).reduce((sum, count) => sum + count, 0)
    return { workers, requests, by_path }
  } finally {
    await rig.close()
    await front?.close()
  }
}

export async function run(args: string[]): Promise<boolean> {
  const { numbers, json } = readArguments(args, { numbers: { minutes: 3 } })
  const { minutes } = numbers
  const two = await countIdle(2, minutes * 60_000)
  const four = await countIdle(4, minutes * 60_000)
  const requests_max = Math.floor(REQUESTS_MAX_PER_MINUTE * minutes)
  const more = four.requests / two.requests - 1
  const result = { minutes, requests_max, two, four, more: Math.round(more * 1_000) / 1_000 }
  say(JSON.stringify(result, null, json ? 0 : 2))
  return two.requests <= requests_max && Math.abs(more) <= DIFFERENCE_MAX
}
