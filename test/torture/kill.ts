// `npm run torture -- kill`: SIGKILL of every role under load, on a real PostgreSQL. Two API
// processes, two workers and one that has the screening index for them serve customers who never
// give up, and who have addresses screened; in each cycle one or all of them are killed at a moment
// drawn by chance and started again, then no block is made while the auditor holds rows, chain and
// what the customers were told against one another. Then each worker is stopped in its tracks for a
// while, so that the other takes its duties, and goes on with what it was about to do. At the end
// everything comes to rest, and the check looks once more.

import { setTimeout as delay } from 'node:timers/promises'
import { signedCall } from '../../bench/parts/load.ts'
import { readArguments } from '../../tools/arguments.ts'
import { Dice } from '../simulator/dice.ts'
import { Buyers } from './buyers.ts'
import { type Member, Rig, type Role } from './rig.ts'

const PROCESSES: readonly [Role, ...string[]][] = [
  ['api'],
  ['api'],
  ['worker', '--index', 'none'],
  ['worker', '--index', 'none'],
  ['index'],
]
const PEOPLE = 4
const PAUSE_MS = 150
const BLOCK_MS = 200
/** A duty whose holder was killed has another by then. */
const TAKEN_MS = 8_000
/** So long after it was paused, what a worker was about to do is done. */
const GOES_ON_MS = 3_000

/** Findings of the auditor that mean that something was charged, delivered or sent
 *  twice. */
const DOUBLED = new RegExp(
  'twice|times|sold|two |another|again| is on the chain|and nobody|came out of nothing' +
    '|hold: \\w+ \\d+, ',
)

const say = (line: string) => process.stdout.write(`${line}\n`)

export async function run(args: string[]): Promise<boolean> {
  const { numbers, texts, json } = readArguments(args, {
    numbers: { cycles: 500, 'pause-seconds': 30 },
    texts: ['seed'],
  })
  const { cycles, 'pause-seconds': pause_seconds } = numbers
  const dice = new Dice(texts.seed ?? 'kill')
  const rig = await Rig.open()
  const buyers = new Buyers(rig)
  const killed: Record<string, number> = { api: 0, worker: 0, index: 0, everything: 0 }
  const findings = new Set<string>()
  const began_ms = performance.now()
  let lost = 0
  let done = 0
  let handed_over = 0
  try {
    await Promise.all(PROCESSES.map(([role, ...more]) => rig.start(role, more)))
    await rig.fund()
    buyers.begin(PEOPLE, PAUSE_MS)
    for (; done < cycles && lost + findings.size === 0; done++) {
      const found = await cycle(rig, dice, { number: done, killed }).catch((thrown: unknown) => [
        `the cycle could not be carried through: ${String(thrown)}`,
      ])
      for (const one of found) findings.add(one)
      lost += await buyers.lost()
      if (!json && done % 20 === 19) say(`${done + 1} cycles, ${buyers.accepted.size} orders`)
    }
    for (const worker of rig.members.filter(({ role }) => role === 'worker')) {
      const paused = await pause(rig, worker, pause_seconds * 1_000)
      if (paused.handed_over) handed_over += 1
      for (const one of paused.findings) findings.add(one)
      lost += await buyers.lost()
    }
    rig.keepMining(BLOCK_MS)
    await rig.until('checks are not answered', async () => {
      const open = await rig.sql`
        select from aml_check where state in ('pending', 'processing') limit 1`
      return open.length === 0
    })
    await buyers.endWhenSoldTo()
    for (const finding of [...(await rig.lookAtRest()), ...buyers.contradictions])
      findings.add(finding)
    lost += await buyers.lostAtRest()
  } finally {
    await rig.close()
  }
  const doubled = [...findings].filter((one) => DOUBLED.test(one))
  const ms = Math.round(performance.now() - began_ms)
  const result = {
    cycles: done,
    lost,
    doubled: doubled.length,
    books_balanced: findings.size === 0,
    killed,
    handed_over,
    orders: buyers.accepted.size,
    asked_again: buyers.unanswered,
    refused: buyers.refused,
    outcomes: rig.outcomes,
    ms_per_cycle: Math.round(ms / Math.max(1, done)),
    findings: [...findings].slice(0, 20),
  }
  say(JSON.stringify(result, null, json ? 0 : 2))
  return lost === 0 && findings.size === 0 && done === cycles && handed_over > 0
}

type Cycle = { number: number; killed: Record<string, number> }

/** Kills, starts again, and looks. Returns what is wrong then. */
async function cycle(rig: Rig, dice: Dice, { number, killed }: Cycle): Promise<string[]> {
  if (number % 10 === 0) await deposits(rig, number)
  await askForCheck(rig, number)
  rig.keepMining(BLOCK_MS)
  await delay(dice.between(0, 400))
  await killSome(rig, dice, killed)
  await rig.stopMining()
  return rig.look()
}

/** Money comes in, and direct recharges, while processes die. */
async function deposits(rig: Rig, number: number): Promise<void> {
  const customer = rig.customers[number % rig.customers.length]!
  await rig.pay(customer.deposit_address, 5_000_000_000n)
  await rig.pay(rig.sandbox.wallets.recharge_address, number % 20 === 0 ? 3_000_000n : 100_000n)
  if (number % 30 === 0) rig.passAnHour()
}

/** Somebody has an address screened, once: who hears nothing does not ask again. */
async function askForCheck({ api_urls, customers, sandbox }: Rig, number: number): Promise<void> {
  const call = signedCall(api_urls[0]!, customers[number % customers.length]!)
  const { address } = sandbox.funded_accounts[number % sandbox.funded_accounts.length]!
  await call('/v1/aml-checks/new', { type: 'address', network: 'TRX', address }).catch(() => {})
}

/** Kills one process, or all of them at once, and starts again what was killed. */
async function killSome(rig: Rig, dice: Dice, killed: Record<string, number>): Promise<void> {
  const everything = dice.chance(0.1)
  const victims = everything ? [...rig.members] : [dice.pick(rig.members)]
  killed[everything ? 'everything' : victims[0]!.role]! += 1
  await Promise.all(victims.map((member) => member.kill('SIGKILL')))
  await Promise.all(victims.map(({ role, more }) => rig.start(role, more)))
}

/** Stops a worker for so long and lets it go on. Returns what is wrong then, and whether it had the
 *  duty of the chain, which another took. */
async function pause(
  rig: Rig,
  { child }: Member,
  ms: number,
): Promise<{ handed_over: boolean; findings: string[] }> {
  rig.keepMining(BLOCK_MS)
  await delay(TAKEN_MS)
  const before = await chainHolder(rig)
  child.kill('SIGSTOP')
  await delay(ms)
  const after = await chainHolder(rig)
  child.kill('SIGCONT')
  await delay(GOES_ON_MS)
  await rig.stopMining()
  return { handed_over: after !== before, findings: await rig.look() }
}

async function chainHolder({ sql }: Rig): Promise<string | undefined> {
  const [row] = await sql<{ process_id: string }>`
    select process_id from duty where name = 'chain'`
  return row?.process_id
}
