// `npm run torture -- failover`: the machine of the database is lost under load, again and again.
// Two API processes and two workers serve customers who never give up, on three servers of which a
// commit needs two. In each cycle the primary is lost in one manner, the standby that has received
// most is promoted, the others follow it, and the lost one comes back as a copy. What customers
// were told of must be there, and the books must hold.

import { setTimeout as delay } from 'node:timers/promises'
import { Misuse } from 'penstock-service/lib/fault.ts'
import { readArguments } from '../../tools/arguments.ts'
import { asRole } from '../harness/database.ts'
import { Dice } from '../simulator/dice.ts'
import { Buyers } from './buyers.ts'
import { type Loss, MANNERS, type Manager, ownManager } from './losses.ts'
import { findPatroni, PatroniCluster } from './patroni.ts'
import { isRight, letOneReturn, type Return } from './returns.ts'
import { Rig } from './rig.ts'
import { Servers } from './servers.ts'

const ROLES = ['api', 'api', 'worker', 'worker'] as const
const PEOPLE = 4
const PAUSE_MS = 50
const BLOCK_MS = 200
const SOLD_MS_MAX = 90_000
const SERVERS = 3
const MANAGERS = ['own', 'patroni'] as const

const say = (line: string) => process.stdout.write(`${line}\n`)

type Cycle = { recovery_ms: number; after_promotion_ms: number }

export async function run(args: string[]): Promise<boolean> {
  const { numbers, texts, json } = readArguments(args, {
    numbers: { cycles: 10, servers: SERVERS },
    texts: ['manner', 'seed', 'manager'],
  })
  const { seed = 'failover' } = texts
  const name = oneOf('manager', MANAGERS, texts.manager ?? 'own')
  const manner = oneOf('manner', [...MANNERS, 'returns'] as const, texts.manner ?? 'kill')
  if (manner === 'returns' && name !== 'own')
    throw new Misuse('--manner returns has no other --manager than own.')
  if ((manner === 'returns' || name !== 'own') && numbers.servers !== SERVERS)
    throw new Misuse(`--manner returns and --manager patroni have ${SERVERS} servers.`)
  // A commit needs two, and one is away.
  if (numbers.servers < SERVERS) throw new Misuse(`--servers is at least ${SERVERS}.`)
  if (manner === 'returns') return letReturn(numbers.cycles, json)
  const manager = await openManager(name, numbers.servers)
  if (!manager) {
    const why = 'patroni, etcd, haproxy, openssl or PostgreSQL is not installed'
    say(json ? JSON.stringify({ manager: 'patroni', not_run: why }) : `not run: ${why}`)
    return true
  }
  const loss = manager.losses[manner]
  const dice = new Dice(seed)
  const { postgres, proxy_url } = manager
  const rig = await Rig.open({ postgres, env: { PENSTOCK_STANDBYS: '1' } })
  const buyers = new Buyers(rig)
  const findings = new Set<string>()
  const cycles: Cycle[] = []
  let lost = 0
  /** Rules of the books that are said to be broken. */
  let false_alarms = 0
  try {
    await Promise.all(
      ROLES.map((role, i) => rig.start(role, [], { env: wayOf(role, i, proxy_url) })),
    )
    await rig.fund()
    buyers.begin(PEOPLE, PAUSE_MS)
    while (cycles.length < numbers.cycles && lost + findings.size === 0) {
      rig.keepMining(BLOCK_MS)
      await delay(dice.between(500, 2_000))
      cycles.push(await loseOne(manager, loss, buyers))
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
    const broken = await brokenRules(rig)
    false_alarms = broken.length
    for (const finding of broken) findings.add(finding)
    lost += await buyers.lostAtRest()
  } finally {
    await rig.close()
  }
  const result = {
    ...manager.described,
    manner,
    cycles: cycles.length,
    orders: buyers.accepted.size,
    lost,
    doubled: buyers.doubled,
    books_balanced: findings.size === 0,
    false_alarms,
    recovery_ms: spread(cycles.map(({ recovery_ms }) => recovery_ms)),
    after_promotion_ms: spread(cycles.map(({ after_promotion_ms }) => after_promotion_ms)),
    asked_again: buyers.unanswered,
    answered_500: buyers.failed,
    refused: buyers.refused,
    findings: [...findings].slice(0, 20),
  }
  say(JSON.stringify(result, null, json ? 0 : 2))
  const noticed = loss.unnoticed === true && buyers.failed > 0
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

function oneOf<T extends string>(option: string, known: readonly T[], given: string): T {
  const found = known.find((one) => one === given)
  if (found === undefined) throw new Misuse(`--${option} is one of ${known.join(', ')}.`)
  return found
}

/** Undefined where the programs that it takes are not installed. */
async function openManager(
  name: (typeof MANAGERS)[number],
  servers: number,
): Promise<Manager | undefined> {
  if (name === 'own') return ownManager(await Servers.open(servers))
  const programs = await findPatroni()
  return programs && (await PatroniCluster.open(programs))
}

/** Where there is a proxy, every other process goes by it, and the rest by the hosts. */
function wayOf(
  role: (typeof ROLES)[number],
  i: number,
  proxy_url: string | undefined,
): Record<string, string> {
  return proxy_url && i % 2 === 1 ? { DATABASE_URL: asRole(proxy_url, `penstock_${role}`) } : {}
}

/** Loses the primary, and waits until another takes writes, an order was sold, and the lost one is
 *  back. */
async function loseOne(manager: Manager, loss: Loss, buyers: Buyers): Promise<Cycle> {
  await loss.lose()
  const lost_ms = performance.now()
  await loss.replace()
  const replaced_ms = performance.now()
  const sold_ms = await soldAt(buyers)
  await manager.comeBack()
  return {
    recovery_ms: Math.round(sold_ms - lost_ms),
    after_promotion_ms: Math.round(sold_ms - replaced_ms),
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
