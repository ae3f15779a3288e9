// `npm run torture -- restore --manner beside`: the database is restored to a moment while every
// process goes on. They must stop selling and sending, say so, and go on without a restart when an
// operator has compared it with the chain and accepted it. Books and chain must agree then, but for
// what the lost database has delivered, which was listed.

import { setTimeout as delay } from 'node:timers/promises'
import { signedCall } from '../../bench/parts/load.ts'
import { Buyers, type Reply } from './buyers.ts'
import {
  archiveLog,
  isAlerted,
  type LosableServer,
  noteMoment,
  ordersOf,
  restoreTo,
  sell,
  sentBy,
  until,
} from './lost_server.ts'
import { Rig, type Role } from './rig.ts'

const ROLES: readonly Role[] = ['api', 'api', 'worker']
const BLOCK_MS = 200
/** Processes look once a second, as soon as the server answers again. */
const STOPPED_MS_MAX = 10_000
/** For so long it is watched that nothing is sold and sent. */
const RESTING_MS = 4_000
/** How often it is asked again, a second later, until a block is solid. */
const TRIES_MAX = 60
const REFUSED = 35

export type Beside = Awaited<ReturnType<typeof restoreBeside>>

export const isRight = (one: Beside): boolean =>
  one.lost > 0 &&
  one.unknown > 0 &&
  one.restarts + one.sold_after + one.sent_after + one.findings.length + one.lost_again === 0 &&
  one.stopped_within_ms < STOPPED_MS_MAX &&
  one.alerted &&
  one.accepted &&
  one.sold_again > 0

type Reconciliation = { unknown: { tx_id: string }[]; adopted: { tx_id: string }[] }

export async function restoreBeside(
  { server, archive, backups }: { server: LosableServer; archive: string; backups: string },
  orders: number,
) {
  const rig = await Rig.open({ postgres: server })
  try {
    await Promise.all(ROLES.map((role) => rig.start(role)))
    const members = [...rig.members]
    await rig.fund()
    rig.keepMining(BLOCK_MS)
    const buyers = new Buyers(rig)
    await sell(buyers, orders)
    await rig.operate('backup', backups)
    const moment = await noteMoment(rig)
    await sell(buyers, orders)
    await untilDelivered(rig)
    rig.keepMining(BLOCK_MS)
    const lost = buyers.accepted.size - moment.orders.length
    await archiveLog(rig)
    await server.lose()
    await restoreTo(rig, server, { backups, archive, at: moment.at })
    const began_ms = performance.now()
    await Promise.all(rig.api_urls.map((url) => untilRefused(url, rig)))
    const stopped_within_ms = Math.round(performance.now() - began_ms)
    const before = await sentBy(rig)
    await delay(RESTING_MS)
    const sold_after = (await ordersOf(rig)).length - moment.orders.length
    const sent_after = (await sentBy(rig)) - before
    const alerted = await isAlerted(rig)
    const { unknown, adopted } = await reconcile(rig)
    await passQuarterOfAnHour(rig)
    const accepted = await rig.operate('database', 'accept', '--reason', 'torture', '--json')
    const later = new Buyers(rig)
    await sell(later, orders)
    const findings = [
      ...(await rig.lookAtRest()),
      ...later.contradictions,
      ...(
        await rig.sql<{ found: string }>`
        select rule || ' ' || subject || ' ' || found as found from books_finding`
      ).map(({ found }) => found),
    ]
    const still = members.filter((one) => rig.members.includes(one)).length
    return {
      lost,
      stopped_within_ms,
      sold_after,
      sent_after,
      alerted,
      unknown: unknown.length,
      adopted: adopted.length,
      accepted: (JSON.parse(accepted) as { accepted: number }).accepted > 0,
      sold_again: later.accepted.size,
      lost_again: await later.lostAtRest(),
      restarts: ROLES.length - still,
      findings: findings.filter((one) => !isListed(one, unknown)).slice(0, 20),
    }
  } finally {
    await rig.close()
  }
}

/** What the lost database has delivered has no row, and its stake is taken back by hand. */
const isListed = (finding: string, unknown: Reconciliation['unknown']): boolean =>
  unknown.some(({ tx_id }) => finding.includes(tx_id)) ||
  /^C8 (\d+ sun are still delegated|.* sun more delegated)/.test(finding)

/** What was bought last lies on the chain; nothing more is mined then. */
async function untilDelivered(rig: Rig): Promise<void> {
  await rig.stopMining()
  await until('what was sold is not delivered', async () => {
    await rig.mineWhenFollowed(1)
    await delay(BLOCK_MS)
    const [open] = await rig.sql`select 1 from orders where state in ('new', 'pending') limit 1`
    return open === undefined
  })
}

async function untilRefused(url: string, { customers, sandbox }: Rig): Promise<void> {
  const call = signedCall(url, customers[0]!)
  const { address } = sandbox.funded_accounts[0]!
  const body = { type: 'address', network: 'TRX', address }
  await until('it goes on selling', async () => {
    const reply = await call('/v1/aml-checks/new', body).catch(() => undefined)
    return (reply as Reply | undefined)?.code === REFUSED
  })
}

/** It is refused until a minute of the chain is over; then it ends with 1 while something has no
 *  row. */
async function reconcile(rig: Rig): Promise<Reconciliation> {
  const { chain } = rig.chain
  chain.mine(chain.chain.head_time_ms + 90_000)
  const words = ['reconcile', '--apply', '--node-url', rig.chain.url, '--json']
  for (let tries = 0; ; tries++) {
    const { stdout, stderr } = await rig.operate('restore', ...words).then(
      (printed) => ({ stdout: printed, stderr: '' }),
      (ended: { stdout: string; stderr: string }) => ended,
    )
    if (stdout.startsWith('{')) return JSON.parse(stdout) as Reconciliation
    if (tries > TRIES_MAX) throw new Error(`what the chain knows more is not read: ${stderr}`)
    await delay(1_000)
  }
}

/** In place of waiting: all that is older than the moment is older by so much. */
async function passQuarterOfAnHour({ sql }: Rig): Promise<void> {
  await sql`update database_loss set restored_to = restored_to - interval '15 minutes'`
  await sql`
    update orders set created_at = created_at - interval '15 minutes'
    where state in ('new', 'pending')`
}
