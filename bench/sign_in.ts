// Whether somebody who guesses can tell a name that exists from one that does not, or a part that
// is right, by how long the refusal takes: a name that nobody has, and names that exist with
// nothing right, with the password alone, and with the code alone; and codes on paper, for
// nobody's name and for one that exists. In turn, against a whole service in this process.
// Passwords are hashed with a hundredth of the usual work, so that less noise covers a difference.
// `p` is that of the two-sided test of Mann and Whitney against the name that nobody has; below
// the limit the two can be told apart.
//
//   npm run bench -- sign_in [--tries N of each] [--names N] [--json]

import { randomInt } from 'node:crypto'
import { makeTemplate, startCluster } from 'penstock-test/harness/database.ts'
import { codeAt, joinedByPassword, PASSWORD } from 'penstock-test/harness/users.ts'
import { Visitor } from 'penstock-test/harness/visitor.ts'
import { openWorld, type World } from 'penstock-test/harness/world.ts'
import { median } from './parts/median.ts'

export const OPTIONS = {
  tries: { type: 'string', default: '10000' },
  names: { type: 'string', default: '24' },
} as const

const P_MIN = 0.01
const ROUNDS_UNTIL_FORGOTTEN = 4
const WARM_UP_ROUNDS = 4
const SAY_EVERY_MS = 5_000

type Body = { sign_in_name: string; password?: string; code: string }
type Group = {
  name: string
  path: '/session/password' | '/session/recovery'
  /** Each has names of its own: what is noted of a name is read at the next guess at it. */
  users: readonly User[]
  body: (user: User) => Body
  times_ms: number[]
}
type User = { sign_in_name: string; secret: string }

export async function run({
  json,
  numbers,
}: {
  json: boolean
  numbers: Readonly<Record<string, number>>
}): Promise<void> {
  const { tries = 0, names = 0 } = numbers
  const postgres = await startCluster()
  await makeTemplate()
  const world = await openWorld()
  try {
    const groups = await groupsOf(world, names)
    await guess(world, groups, WARM_UP_ROUNDS * names)
    for (const group of groups) group.times_ms = []
    await guess(world, groups, tries)
    report(groups, json)
  } finally {
    await world.discard()
    await postgres.stop()
  }
}

/** Of each path first the one that the others are compared with. */
async function groupsOf(world: World, names: number): Promise<Group[]> {
  const right = ({ secret }: User) => codeAt(secret, world.now)
  // Never the code of the moment.
  const wrong = (user: User) => String((Number(right(user)) + 1) % 1_000_000).padStart(6, '0')
  const password = 'another horse battery'
  const paper = 'aaaa-bbbb-cccc-dddd'
  type More = { exists?: boolean; password?: string }
  const group = (
    name: string,
    path: Group['path'],
    code: (user: User) => string,
    { exists = true, password: given = password }: More = {},
  ) => {
    const body = ({ sign_in_name, secret }: User) => ({
      sign_in_name,
      ...(path === '/session/password' && { password: given }),
      code: code({ sign_in_name, secret }),
    })
    return { name, path, users: [] as User[], body, times_ms: [], exists }
  }
  const groups = [
    group('nobody', '/session/password', wrong, { exists: false }),
    group('nothing_right', '/session/password', wrong),
    group('password_right', '/session/password', wrong, { password: PASSWORD }),
    group('code_right', '/session/password', right),
    group('paper_nobody', '/session/recovery', () => paper, { exists: false }),
    group('paper_wrong', '/session/recovery', () => paper),
  ]
  const customers = await Promise.all(groups.map(() => world.customer()))
  // One of each group in turn: rows that were written later take some microseconds longer.
  for (let i = 0; i < names; i++)
    for (const [place, { users, exists }] of groups.entries()) {
      const sign_in_name = `user-${i}-${place}`
      const customer_id = customers[place]!.id
      const { secret } = await joinedByPassword(world, { customer_id }, sign_in_name)
      users.push({ sign_in_name: exists ? sign_in_name : `none-${i}-${place}`, secret })
    }
  return groups
}

/** So many guesses of each group, in an order that is drawn anew each time. */
async function guess(world: World, groups: Group[], tries: number): Promise<void> {
  let said_at = performance.now()
  for (let i = 0; i < tries; i++) {
    // A name waits after five failures: they are forgotten before.
    if (i % (groups[0]!.users.length * ROUNDS_UNTIL_FORGOTTEN) === 0)
      await world.sql`delete from sign_in`
    const order = shuffled(groups)
    for (const [place, group] of order.entries()) {
      const ip = `10.${(i >> 8) & 255}.${i & 255}.${place + 1}`
      const visitor = new Visitor(world.api, { ip })
      const body = group.body(group.users[i % group.users.length]!)
      const began = performance.now()
      const { code } = await visitor.call(group.path, body)
      group.times_ms.push(performance.now() - began)
      if (code !== 1) throw new Error(`${group.name} was answered ${code}`)
    }
    // What is counted by the second goes by the clock of the world.
    world.wait(0.1)
    if (performance.now() - said_at > SAY_EVERY_MS) {
      said_at = performance.now()
      process.stderr.write(`${i} of ${tries}\n`)
    }
  }
}

/** Each order is as likely as any other: who comes second meets rows that the first has written. */
function shuffled<T>(all: readonly T[]): T[] {
  const order = [...all]
  for (let i = order.length - 1; i > 0; i--) {
    const other = randomInt(i + 1)
    ;[order[i], order[other]] = [order[other]!, order[i]!]
  }
  return order
}

/** The two-sided p of Mann and Whitney, by the normal distribution that it nears. */
function mannWhitneyP(a: readonly number[], b: readonly number[]): number {
  const all = [...a.map((ms) => ({ ms, of_a: true })), ...b.map((ms) => ({ ms, of_a: false }))]
  all.sort((x, y) => x.ms - y.ms)
  let rank_sum = 0
  for (let from = 0; from < all.length; ) {
    let until = from + 1
    while (until < all.length && all[until]!.ms === all[from]!.ms) until += 1
    const rank = (from + 1 + until) / 2
    for (let i = from; i < until; i++) if (all[i]!.of_a) rank_sum += rank
    from = until
  }
  const u = rank_sum - (a.length * (a.length + 1)) / 2
  const middle = (a.length * b.length) / 2
  const spread = Math.sqrt((a.length * b.length * (a.length + b.length + 1)) / 12)
  return complementaryError(Math.abs(u - middle) / spread / Math.SQRT2)
}

/** 1 - erf(x) for x >= 0, by Abramowitz and Stegun 7.1.26: off by 1.5e-7 at most. */
function complementaryError(x: number): number {
  const t = 1 / (1 + 0.3275911 * x)
  const factors = [0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429]
  const sum = factors.reduceRight((inner, factor) => (inner + factor) * t, 0)
  return sum * Math.exp(-x * x)
}

function report(groups: readonly Group[], json: boolean): void {
  const rounded = (value: number) => Number(value.toFixed(4))
  const found = groups.map(({ name, path, times_ms }) => {
    const base = groups.find((one) => one.path === path)!
    const median_ms = rounded(median(times_ms))
    if (base.name === name) return { name, median_ms }
    const ratio = rounded(median(times_ms) / median(base.times_ms))
    return {
      name,
      median_ms,
      than: base.name,
      ratio,
      p: rounded(mannWhitneyP(times_ms, base.times_ms)),
    }
  })
  const tries = groups[0]!.times_ms.length
  if (json) process.stdout.write(`${JSON.stringify({ tries, p_min: P_MIN, found })}\n`)
  else {
    process.stdout.write(`${tries} tries of each; p at least ${P_MIN}\n`)
    for (const { name, median_ms, than, ratio, p } of found)
      process.stdout.write(
        `${name.padEnd(16)}${median_ms} ms${than ? `, ${ratio} of ${than}, p ${p}` : ''}\n`,
      )
  }
  if (found.some(({ p }) => p !== undefined && p < P_MIN)) process.exitCode = 1
}
