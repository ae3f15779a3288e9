// `npm run torture -- liars`: a real service whose first node lies, in one manner after another,
// with one and with two honest nodes beside it. Nothing that only the liar says may be credited;
// somebody must be told; and what is true is credited, at once where the majority is honest, else
// when the liar has stopped.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Devchain } from 'penstock-devchain/devchain.ts'
import { person } from 'penstock-devchain/scene.ts'
import { alerts } from 'penstock-service/health/monitoring/alerts.ts'
import { addressToHex } from 'penstock-tron/address.ts'
import { sign } from 'penstock-tron/keys.ts'
import {
  contract,
  encodeRawData,
  encodeTransaction,
  transactionId,
} from 'penstock-tron/transaction.ts'
import { readArguments } from '../../tools/arguments.ts'
import { type Aim, LIES, Liar, type Lie } from '../harness/liars.ts'
import { Rig } from './rig.ts'

const LIE_SUN = 7_654_321_000_000n
const HONEST_SUN = 5_000_000n
/** What tells of each lie. A node that prints what its bytes do not say is not read from, and its
 *  word is missing. */
const TOLD_BY: Readonly<Record<Lie, readonly string[]>> = {
  invents: ['nodes_disagree'],
  misprints: [],
  alters: ['nodes_disagree'],
  'leaves out': ['nodes_disagree'],
  hides: ['internal_transfers_hidden'],
  'sends inside': ['deposit_held'],
}
const WAIT_MS_MAX = 90_000

export type Outcome = {
  nodes: number
  lie: Lie
  /** Answers that were not what the chain said. */
  told: number
  /** Of what the liar wanted, what was credited, in sun. */
  credited_sun: string
  alerts: string[]
  /** Whether an honest deposit was credited while the liar lied, and after. */
  honest_meanwhile: boolean
  honest_after: boolean
  findings: string[]
}

/** A node's front that lies. */
async function listen(liar: Liar): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const said = liar.answer(request.url ?? '/', Buffer.concat(chunks).toString('utf8'))
      response.writeHead(said.status, { 'content-type': 'application/json' }).end(said.body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** One rig with so many nodes, of which the first lies. */
async function withNodes(nodes: number, say: (line: string) => void): Promise<Outcome[]> {
  const aim: { now: Aim } = {
    now: { to: [person('nobody').address], sun: LIE_SUN, from: person('ghost').address },
  }
  const fronts: { url: string; close(): Promise<void> }[] = []
  let liar: Liar | undefined
  const node_urls = async (chain: Devchain) => {
    const ask = (path: string, body: string) => chain.request('POST', path, body)
    for (let i = 0; i < nodes; i++) {
      const one = new Liar(ask, () => aim.now)
      liar ??= one
      fronts.push(await listen(one))
    }
    return fronts.map(({ url }) => url)
  }
  const rig = await Rig.open({ node_urls })
  try {
    await rig.start('worker')
    await rig.fund()
    const outcomes: Outcome[] = []
    for (const [i, lie] of LIES.entries()) {
      const customer = rig.customers[i % rig.customers.length]!
      aim.now = { ...aim.now, to: [customer.deposit_address] }
      outcomes.push(
        await tell(rig, liar!, {
          nodes,
          lie,
          customer: customer.customer_id,
          to: customer.deposit_address,
        }),
      )
      say(`${nodes} nodes, the first ${lie}`)
    }
    outcomes.at(-1)!.findings.push(...(await rig.lookAtRest()))
    return outcomes
  } finally {
    await rig.close()
    for (const front of fronts) await front.close()
  }
}

/** A contract of the payer's passes TRX on: what nodes show only as an internal transaction. */
function payByContract({ sandbox, chain }: Rig, to: string, sun: bigint): void {
  const { chain: devchain } = chain
  const payer = sandbox.funded_accounts.at(-1)!
  const router = person(`router to ${to}`)
  const post = (path: string, body: object) =>
    JSON.parse(devchain.request('POST', path, JSON.stringify(body)).body) as Record<string, unknown>
  post('/devchain/contract', { address: router.address, owner: payer.address, receivers: [to] })
  const { id, header } = devchain.head
  const value = {
    owner_address: addressToHex(payer.address),
    contract_address: router.hex,
    call_value: sun,
  }
  const raw = encodeRawData({
    ref_block_bytes: id.slice(12, 16),
    ref_block_hash: id.slice(16, 32),
    fee_limit: 1_000_000_000n,
    expiration: header.timestamp + 60_000,
    timestamp: Date.now(),
    contract: [contract('TriggerSmartContract', value)],
  })
  const signed = encodeTransaction(raw, [sign(transactionId(raw), payer.private_key)])
  const answer = post('/wallet/broadcasthex', { transaction: Buffer.from(signed).toString('hex') })
  if (answer.result !== true)
    throw new Error(`the chain refuses the contract's call: ${JSON.stringify(answer)}`)
}

type LieOptions = { nodes: number; lie: Lie; customer: string; to: string }

async function tell(
  rig: Rig,
  liar: Liar,
  { nodes, lie, customer, to }: LieOptions,
): Promise<Outcome> {
  const { sql } = rig
  const balance = async () => {
    const [row] = await sql<{
      posted_sun: bigint
    }>`select posted_sun from account where id = ${`customer:${customer}`}`
    return row!.posted_sun
  }
  const before = await balance()
  const seen = new Set<string>()
  const look = async () => {
    for (const { alert } of await alerts({ sql, now: new Date() })) seen.add(alert)
  }
  const until = async (isSo: () => Promise<boolean>): Promise<boolean> => {
    for (const began = Date.now(); Date.now() - began < WAIT_MS_MAX; ) {
      rig.mine(2)
      await delay(300)
      await look()
      if (await isSo()) return true
    }
    return false
  }
  // A day has passed: nobody remembers who has lied, and the first node is asked first again.
  await rig.sql`delete from node_dispute`
  for (const member of [...rig.members]) await member.kill('SIGTERM')
  await rig.start('worker')
  liar.told = 0
  liar.from_block = rig.chain.chain.chain.head_number + 1
  liar.lie = lie
  if (lie === 'hides') payByContract(rig, to, HONEST_SUN)
  else await rig.pay(to, HONEST_SUN)
  rig.mine(25)
  const wanted = TOLD_BY[lie]
  const honest = async () => (await balance()) - before >= HONEST_SUN
  const told = async () => liar.told > 0 && wanted.every((alert) => seen.has(alert))
  // With an honest majority the deposit comes meanwhile; with two nodes that disagree it waits.
  const is_outvoted = nodes > 2 || lie === 'hides' || lie === 'sends inside'
  await until(async () => (await told()) && (!is_outvoted || (await honest())))
  const honest_meanwhile = await honest()
  liar.lie = undefined
  const honest_after = await until(honest)
  const gained = (await balance()) - before
  const findings: string[] = []
  if (liar.told === 0) findings.push('the lie was never told')
  if (gained !== HONEST_SUN) findings.push(`${gained} sun were credited, ${HONEST_SUN} were paid`)
  for (const alert of wanted) if (!seen.has(alert)) findings.push(`there was no alert ${alert}`)
  if (is_outvoted && !honest_meanwhile) findings.push('the honest deposit had to wait for the liar')
  const credited_sun = String(gained > HONEST_SUN ? gained - HONEST_SUN : 0n)
  return {
    nodes,
    lie,
    told: liar.told,
    credited_sun,
    alerts: [...seen].sort(),
    honest_meanwhile,
    honest_after,
    findings,
  }
}

export async function run(args: string[]): Promise<boolean> {
  const { json } = readArguments(args, {})
  const say = (line: string) => process.stderr.write(`${line}\n`)
  const outcomes = [...(await withNodes(2, say)), ...(await withNodes(3, say))]
  const ok = outcomes.every(({ findings, honest_after }) => findings.length === 0 && honest_after)
  const print = (line: string) => process.stdout.write(`${line}\n`)
  if (json) print(JSON.stringify({ ok, outcomes }))
  else {
    for (const { nodes, lie, told, credited_sun, alerts, honest_meanwhile, findings } of outcomes) {
      const honest = honest_meanwhile ? 'credited meanwhile' : 'credited when the nodes agreed'
      print(
        `${nodes} nodes, the first ${lie}: told ${told} times, ` +
          `credited ${credited_sun} sun; honest ${honest}; ${alerts.join(', ')}`,
      )
      for (const finding of findings) print(`        ${finding}`)
    }
  }
  return ok
}
