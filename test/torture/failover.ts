// `npm run torture -- failover`: the machine of the database is lost under load, again and again.
// Two API processes and two workers serve customers who never give up, on three servers of which a
// commit needs two. In each cycle the primary is lost in one manner, the standby that has received
// most is promoted, the others follow it, and the lost one comes back as a copy. What customers
// were told of must be there, and the books must hold.

import { setTimeout as delay } from 'node:timers/promises'
import { Misuse } from 'penstock-service/lib/fault.ts'
import { readArguments } from '../../tools/arguments.ts'
import { Dice } from '../simulator/dice.ts'
import { Buyers } from './buyers.ts'
import { isRight, letOneReturn, type Return } from './returns.ts'
import { Rig, type Role } from './rig.ts'
import { type Server, Servers } from './servers.ts'

const ROLES: readonly Role[] = ['api', 'api', 'worker', 'worker']
const PEOPLE = 4
const PAUSE_MS = 50
const BLOCK_MS = 200
/** For so long the standbys are away before the primary is lost too. */
const CUT_MS = 10_000
/** A manager sees that the primary is gone after about this long. */
const NOTICED_MS = 300
const SOLD_MS_MAX = 90_000

const say = (line: string) => process.stdout.write(`${line}\n`)

/** How the primary is lost; what has to be done before another may be promoted. */
const MANNERS: Readonly<Record<string, (servers: Servers) => Promise<void>>> = {
  /** Every process of it is killed. */
  kill: (servers) => servers.kill(servers.primary),
  /** It stands still, with every connection open, and never goes on. */
  hang: (servers) => servers.signal(servers.primary, 'SIGSTOP'),
  /** The standbys are away, and commits wait for them, when it is killed. */
  async cut(servers) {
    const { standbys } = servers
    for (const standby of standbys) await servers.kill(standby)
    await delay(CUT_MS)
    await servers.kill(servers.primary)
    await Promise.all(standbys.map((standby) => servers.start(standby)))
  },
  /** It is asked to stop, and lets the standbys have everything. */
  switchover: (servers) => servers.stopOne(servers.primary),
}

type Cycle = { recovery_ms: number; after_promotion_ms: number }

export async function run(args: string[]): Promise<boolean> {
  const { numbers, texts, json } = readArguments(args, {
    numbers: { cycles: 10, servers: 3 },
    texts: ['manner', 'seed'],
  })
  const { manner = 'kill', seed = 'failover' } = texts
  if (manner === 'returns') return letReturn(numbers.cycles, json)
  const lose = Object.hasOwn(MANNERS, manner) ? MANNERS[manner] : undefined
  if (!lose) throw new Misuse(`--manner is one of ${Object.keys(MANNERS).join(', ')}, returns.`)
  const dice = new Dice(seed)
  const servers = await Servers.open(numbers.servers)
  const rig = await Rig.open({ postgres: servers, env: { PENSTOCK_STANDBYS: '1' } })
  const buyers = new Buyers(rig)
  const findings = new Set<string>()
  const cycles: Cycle[] = []
  let lost = 0
  try {
    await Promise.all(ROLES.map((role) => rig.start(role)))
    await rig.fund()
    buyers.begin(PEOPLE, PAUSE_MS)
    while (cycles.length < numbers.cycles && lost + findings.size === 0) {
      rig.keepMining(BLOCK_MS)
      await delay(dice.between(500, 2_000))
      cycles.push(await loseOne(servers, buyers, lose))
      await delay(500)
      await rig.stopMining()
      lost += await buyers.lost()
      // The auditor's own connection is lost with the primary.
      for (const finding of await rig.look().catch(() => rig.look())) findings.add(finding)
      if (!json) say(`${JSON.stringify(cycles.at(-1))} ${buyers.accepted.size} orders`)
    }
    rig.keepMining(BLOCK_MS)
    await buyers.endWhenSoldTo()
    for (const finding of [...(await rig.lookAtRest()), ...buyers.contradictions])
      findings.add(finding)
    for (const finding of await brokenRules(rig)) findings.add(finding)
    lost += await buyers.lostAtRest()
  } finally {
    await rig.close()
  }
  const result = {
    manner,
    cycles: cycles.length,
    orders: buyers.accepted.size,
    lost,
    books_balanced: findings.size === 0,
    recovery_ms: spread(cycles.map(({ recovery_ms }) => recovery_ms)),
    after_promotion_ms: spread(cycles.map(({ after_promotion_ms }) => after_promotion_ms)),
    asked_again: buyers.unanswered,
    answered_500: buyers.failed,
    refused: buyers.refused,
    findings: [...findings].slice(0, 20),
  }
  say(JSON.stringify(result, null, json ? 0 : 2))
  // Who names a purchase does not notice that another server takes over on purpose.
  const noticed = manner === 'switchover' && buyers.failed > 0
  return lost === 0 && findings.size === 0 && !noticed && cycles.length === numbers.cycles
}

/** The old primary comes back, so many times. */
async function letReturn(cycles: number, json: boolean): Promise<boolean> {
  const returns: Return[] = []
  while (returns.length < cycles && returns.every(isRight)) {
    returns.push(await letOneReturn())
    if (!json) say(JSON.stringify(returns.at(-1)))
  }
  const sum = (what: 'sold_after' | 'lost' | 'unnamed') =>
    returns.reduce((total, one) => total + one[what], 0)
  const result = {
    manner: 'returns',
    cycles: returns.length,
    stopped_within_ms: spread(returns.map(({ stopped_within_ms }) => stopped_within_ms)),
    sold_after: sum('sold_after'),
    lost: sum('lost'),
    unnamed: sum('unnamed'),
    alerted: returns.every(({ alerted }) => alerted),
  }
  say(JSON.stringify(result, null, json ? 0 : 2))
  return returns.every(isRight)
}

/** Loses the primary, promotes another, waits until an order was sold, and brings the lost one
 *  back. */
async function loseOne(
  servers: Servers,
  buyers: Buyers,
  lose: (servers: Servers) => Promise<void>,
): Promise<Cycle> {
  const before = servers.primary
  await lose(servers)
  const lost_ms = performance.now()
  await delay(NOTICED_MS)
  await servers.promote()
  const promoted_ms = performance.now()
  const sold_ms = await soldAt(buyers)
  await comeBack(servers, before)
  return {
    recovery_ms: Math.round(sold_ms - lost_ms),
    after_promotion_ms: Math.round(sold_ms - promoted_ms),
  }
}

/** When the next order was sold. */
async function soldAt(buyers: Buyers): Promise<number> {
  const before = buyers.accepted.size
  const began_ms = performance.now()
  while (buyers.accepted.size === before) {
    if (performance.now() - began_ms > SOLD_MS_MAX)
      throw new Error(`nothing is sold any more: ${JSON.stringify(buyers.refused)}`)
    await delay(5)
  }
  return performance.now()
}

/** What is left of the lost server is ended, and it follows the new primary as a copy of it. */
async function comeBack(servers: Servers, lost: Server): Promise<void> {
  await servers.kill(lost)
  await servers.join(lost)
  await servers.untilReplicated()
}

/** The service's own check of its books: the journal's seals too. */
async function brokenRules(rig: Rig): Promise<string[]> {
  const printed = await rig.report('books', 'check', '--json')
  const { rules } = JSON.parse(printed) as {
    rules: { rule: string; state: string; findings: { subject: string; found: string }[] }[]
  }
  return rules
    .filter(({ state }) => state === 'broken')
    .flatMap(({ rule, findings }) =>
      findings.map(({ subject, found }) => `${rule} ${subject}: ${found}`),
    )
}

function spread(values: readonly number[]): { p50: number; max: number } {
  const sorted = [...values].sort((a, b) => a - b)
  return { p50: sorted[Math.floor(sorted.length / 2)] ?? 0, max: sorted.at(-1) ?? 0 }
}
