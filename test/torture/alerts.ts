// `npm run torture -- alerts`: real causes on real processes. A node is cut off, the workers are
// killed, the stake goes, money is held, a row of the books is broken, signing is stopped:
// how long until `status` and an event tell of it, and until they say that it is over. That every
// alert can be brought about and ended at all is shown by packages/service/src/health/monitoring/.
// Counted is from when there is what an alert tells of, as a deposit that is held or a finding of
// the books' check, which has times of its own.

import { transact } from 'penstock-playground/sandbox.ts'
import { HOUSE } from 'penstock-service/events/log/events.ts'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { type Address, addressToHex } from 'penstock-tron/address.ts'
import { readArguments } from '../../tools/arguments.ts'
import { eventually } from '../harness/eventually.ts'
import { keepMore } from '../harness/without_triggers.ts'
import { NodeFront } from './relays.ts'
import { Rig, type Role } from './rig.ts'

const ROLES: readonly Role[] = ['api', 'worker', 'worker']
const BLOCK_MS = 500
/** From when an alert's condition holds, and from when it does not hold any more. */
const TOLD_MS_MAX = 15_000
/** `chain_silent` is told of nodes that have been silent for so long. */
const SILENT_MS = 30_000
const HUGE_SUN = 50_000_000_000n

type Stage = { rig: Rig; front: NodeFront }

type Deed = {
  alert: string
  cause(stage: Stage): Promise<unknown>
  end(stage: Stage): Promise<unknown>
  /** For so long the cause lasts before the condition of the alert holds. */
  after_ms?: number
  /** Nobody is there who could send an event while it lasts. */
  by_status_alone?: boolean
}

type Timing = { deed: string; alert: string; raised_ms: number; cleared_ms: number }

const DEEDS: Readonly<Record<string, Deed>> = {
  'the node is cut off': {
    alert: 'chain_silent',
    after_ms: SILENT_MS,
    async cause({ front }) {
      front.manner = 'away'
    },
    async end({ front }) {
      front.manner = 'well'
    },
  },
  'the workers are killed': {
    alert: 'chain_silent',
    after_ms: SILENT_MS,
    by_status_alone: true,
    async cause({ rig }) {
      const workers = rig.members.filter(({ role }) => role === 'worker')
      await Promise.all(workers.map((worker) => worker.kill('SIGKILL')))
    },
    end: ({ rig }) => Promise.all([rig.start('worker'), rig.start('worker')]),
  },
  'the stake is taken out of the pool': {
    alert: 'pool_low',
    async cause({ rig }) {
      await changeStakes(rig, async (owner_address, address) => {
        const unfreeze_balance = await rig.node.delegable(address, 'energy')
        return [
          'UnfreezeBalanceV2Contract',
          { owner_address, unfreeze_balance, resource: 'ENERGY' },
        ]
      })
      await rig.until('the pool is as it was', async () => (await roomLeft(rig)) < SMALLEST)
    },
    async end({ rig }) {
      await changeStakes(rig, (owner_address) => ['CancelAllUnfreezeV2Contract', { owner_address }])
      await rig.until('nothing comes back', async () => (await roomLeft(rig)) > SMALLEST)
    },
  },
  'a recharge is more than can be sold or sent back': {
    alert: 'deposit_held',
    async cause({ rig }) {
      await rig.pay(rig.sandbox.wallets.recharge_address!, HUGE_SUN)
      await rig.until('the money is not held', async () => (await heldDeposits(rig)).length > 0)
    },
    async end({ rig }) {
      const [held] = await heldDeposits(rig)
      await rig.operate('deposits', 'resolve', held!.tx_id, '--written-off', '--reason', 'a trial')
    },
  },
  'an account has a sun too many': {
    alert: 'books_broken',
    cause: ({ rig }) => breakBooks(rig, 1, (findings) => findings > 0),
    async end({ rig }) {
      await breakBooks(rig, -1, (findings) => findings === 0)
      await rig.operate('services', 'on', '--all', '--reason', 'a trial')
    },
  },
  'signing is stopped': {
    alert: 'signing_stopped',
    cause: ({ rig }) => rig.operate('signer', 'stop', '--reason', 'a trial'),
    end: ({ rig }) => rig.operate('signer', 'go', '--reason', 'a trial'),
  },
}

export async function run(args: string[]): Promise<boolean> {
  const { json } = readArguments(args, {})
  let front: NodeFront | undefined
  const rig = await Rig.open({
    async node_urls(chain) {
      front = new NodeFront(chain)
      return [await front.listen()]
    },
  })
  const told: Timing[] = []
  const findings: string[] = []
  try {
    await Promise.all(ROLES.map((role) => rig.start(role)))
    await rig.fund()
    rig.keepMining(BLOCK_MS)
    for (const [name, deed] of Object.entries(DEEDS)) {
      const one = await tell({ rig, front: front! }, name, deed)
      told.push(one)
      if (one.raised_ms > TOLD_MS_MAX) findings.push(`${name}: raised after ${one.raised_ms} ms`)
      if (one.cleared_ms > TOLD_MS_MAX) findings.push(`${name}: cleared after ${one.cleared_ms} ms`)
      if (!json) process.stdout.write(`${JSON.stringify(one)}\n`)
    }
    findings.push(...(await rig.lookAtRest()))
  } finally {
    await rig.close()
    await front?.close()
  }
  process.stdout.write(`${JSON.stringify({ told, findings }, null, json ? 0 : 2)}\n`)
  return findings.length === 0
}

/** Brings it about and ends it; how long each took to be told. */
async function tell(stage: Stage, deed: string, one: Deed): Promise<Timing> {
  const { alert, cause, end, after_ms = 0, by_status_alone = false } = one
  const { rig } = stage
  const isRaised = async () => (await alertsOf(rig)).has(alert)
  if (await isRaised()) throw new Error(`${alert} is there before ${deed}`)
  const before = await lastEvent(rig)
  await cause(stage)
  const caused_ms = performance.now() + after_ms
  await eventually(
    `${deed}: ${alert} is raised`,
    async () => (by_status_alone || (await isTold(rig, 'raised', alert, before))) && isRaised(),
  )
  const raised_ms = Math.max(0, Math.round(performance.now() - caused_ms))
  await end(stage)
  const ended_ms = performance.now()
  await eventually(
    `${deed}: ${alert} is cleared`,
    async () =>
      (by_status_alone || (await isTold(rig, 'cleared', alert, before))) && !(await isRaised()),
  )
  return { deed, alert, raised_ms, cleared_ms: Math.round(performance.now() - ended_ms) }
}

/** What `status` shows. */
async function alertsOf(rig: Rig): Promise<Set<string>> {
  const printed = await rig.report('status', '--json')
  const { alerts } = JSON.parse(printed) as { alerts: { alert: string }[] }
  return new Set(alerts.map(({ alert }) => alert))
}

async function lastEvent({ sql }: Rig): Promise<bigint> {
  const [row] = await sql<{ number: bigint }>`
    select coalesce(max(number), 0)::bigint as number from event where customer_id = ${HOUSE}`
  return row!.number
}

async function isTold({ sql }: Rig, what: string, alert: string, after: bigint): Promise<boolean> {
  const rows = await sql`
    select 1 from event where customer_id = ${HOUSE} and number > ${after}
      and type = ${`alert.${what}`} and subject = ${`alert:${alert}`}`
  return rows.length > 0
}

/** The least energy that is sold. */
const SMALLEST = 32_000

async function roomLeft({ sql }: Rig): Promise<number> {
  const [row] = await sql<{ room: number }>`
    select (room - reserved)::float8 as room from pool where resource = 'energy'`
  return row!.room
}

type Operation = Parameters<typeof transact>[2]

/** An operation of the owner of each pool wallet, with the owner's own key. */
async function changeStakes(
  { node, sandbox }: Rig,
  operationOf: (owner_hex: string, address: Address) => Operation | Promise<Operation>,
): Promise<void> {
  const owners = sandbox.owners.slice(0, sandbox.wallets.pool.length)
  for (const owner of owners) {
    const operation = await operationOf(addressToHex(owner.address), owner.address)
    await transact({ node, now: systemClock.now }, owner, operation)
  }
}

const heldDeposits = ({ sql }: Rig) =>
  sql<{ tx_id: string }>`select tx_id from deposit where state = 'held'`

/** So many sun more than the entries of an account say, and the books checked at once. */
async function breakBooks(
  rig: Rig,
  sun: number,
  isSo: (findings: number) => boolean,
): Promise<void> {
  const { sql } = rig
  const account = `customer:${rig.customers[0]!.customer_id}`
  await keepMore(sql, account, BigInt(sun))
  await rig.until('the books are not checked', async () => {
    await sql`update books_check set due_at = now() where due_at > now() + interval '3 seconds'`
    const [row] = await sql<{ findings: number }>`
      select count(*)::integer as findings from books_finding where gone_at is null`
    return isSo(row!.findings)
  })
}
