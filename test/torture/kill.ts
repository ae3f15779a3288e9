// `npm run torture -- kill`: SIGKILL of every role under load, on a real PostgreSQL. Two API
// processes and two workers serve customers who never give up; in each cycle one or all of them are
// killed at a moment drawn by chance and started again, then no block is made while the outsider's
// check holds rows, chain and what the customers were told against one another. At the end
// everything comes to rest, and the check looks once more.

import { setTimeout as delay } from 'node:timers/promises'
import { readArguments } from '../../tools/arguments.ts'
import { Dice } from '../simulator/dice.ts'
import { Shoppers } from './shoppers.ts'
import { type Role, Stand } from './stand.ts'

const ROLES: readonly Role[] = ['api', 'api', 'worker', 'worker']
const PEOPLE = 4
const PAUSE_MS = 150
const BLOCK_MS = 200

/** Findings of the outsider's check that mean that something was charged, delivered or sent
 *  twice. */
const DOUBLED = new RegExp(
  'twice|times|sold|two |another|again| is on the chain|and nobody|came out of nothing' +
    '|hold: \\w+ \\d+, ',
)

const say = (line: string) => process.stdout.write(`${line}\n`)

export async function run(args: string[]): Promise<boolean> {
  const { numbers, texts, json } = readArguments(args, {
    numbers: { cycles: 500 },
    texts: ['seed'],
  })
  const { cycles } = numbers
  const dice = new Dice(texts.seed ?? 'kill')
  const stand = await Stand.open()
  const shoppers = new Shoppers(stand)
  const killed: Record<string, number> = { api: 0, worker: 0, everything: 0 }
  const findings = new Set<string>()
  const began_ms = performance.now()
  let lost = 0
  let done = 0
  try {
    await Promise.all(ROLES.map((role) => stand.start(role)))
    await stand.fund()
    shoppers.begin(PEOPLE, PAUSE_MS)
    for (; done < cycles && lost + findings.size === 0; done++) {
      const found = await cycle(stand, dice, { number: done, killed }).catch((thrown: unknown) => [
        `the cycle could not be carried through: ${String(thrown)}`,
      ])
      for (const one of found) findings.add(one)
      lost += await shoppers.lost()
      if (!json && done % 20 === 19) say(`${done + 1} cycles, ${shoppers.accepted.size} orders`)
    }
    stand.keepMining(BLOCK_MS)
    await shoppers.endWhenSoldTo()
    for (const finding of [...(await stand.lookAtRest()), ...shoppers.contradictions])
      findings.add(finding)
    lost += await shoppers.lostAtRest()
  } finally {
    await stand.close()
  }
  const doubled = [...findings].filter((one) => DOUBLED.test(one))
  const ms = Math.round(performance.now() - began_ms)
  const result = {
    cycles: done,
    lost,
    doubled: doubled.length,
    books_balanced: findings.size === 0,
    killed,
    orders: shoppers.accepted.size,
    asked_again: shoppers.unanswered,
    refused: shoppers.refused,
    outcomes: stand.outcomes,
    ms_per_cycle: Math.round(ms / Math.max(1, done)),
    findings: [...findings].slice(0, 20),
  }
  say(JSON.stringify(result, null, json ? 0 : 2))
  return lost === 0 && findings.size === 0 && done === cycles
}

type Cycle = { number: number; killed: Record<string, number> }

/** Kills, starts again, and looks. Returns what is wrong then. */
async function cycle(stand: Stand, dice: Dice, { number, killed }: Cycle): Promise<string[]> {
  if (number % 10 === 0) await deposits(stand, number)
  stand.keepMining(BLOCK_MS)
  await delay(dice.between(0, 400))
  await killSome(stand, dice, killed)
  await stand.stopMining()
  return stand.look()
}

/** Money comes in, and direct recharges, while processes die. */
async function deposits(stand: Stand, number: number): Promise<void> {
  const customer = stand.customers[number % stand.customers.length]!
  await stand.pay(customer.deposit_address, 5_000_000_000n)
  await stand.pay(stand.sandbox.wallets.recharge_address, number % 20 === 0 ? 3_000_000n : 100_000n)
  if (number % 30 === 0) stand.passAnHour()
}

/** Kills one process, or all of them at once, and starts again what was killed. */
async function killSome(stand: Stand, dice: Dice, killed: Record<string, number>): Promise<void> {
  const everything = dice.chance(0.1)
  const victims = everything ? [...stand.members] : [dice.pick(stand.members)]
  killed[everything ? 'everything' : victims[0]!.role]! += 1
  await Promise.all(victims.map((member) => member.kill('SIGKILL')))
  await Promise.all(victims.map(({ role }) => stand.start(role)))
}
