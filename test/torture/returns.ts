// `npm run torture -- failover --manner returns`: a manager that does not fence. The primary stands
// still, another is promoted and sells; then the old one goes on and takes writes again, without
// what was acknowledged meanwhile, and the others begin anew as copies of it. Every process must
// stop selling at once, and name each order that is gone, until an operator accepts it. Each time
// on servers and a chain of its own: what was delivered for orders that are gone stays on the
// chain.

import { setTimeout as delay } from 'node:timers/promises'
import { signedCall } from '../../bench/parts/load.ts'
import { Buyers, type Reply } from './buyers.ts'
import { Rig, type Role } from './rig.ts'
import { QUORUM, type Server, Servers } from './servers.ts'

const ROLES: readonly Role[] = ['api', 'api', 'worker']
const PEOPLE = 4
const PAUSE_MS = 50
const BLOCK_MS = 200
/** For so long the promoted one sells. */
const SELLING_MS = 2_000
/** Every process looks once a second. */
const STOPPED_MS_MAX = 2_000
const ANSWERED_MS = 200
const WAIT_MS_MAX = 60_000
const REFUSED = 35

export type Return = {
  /** From when the old primary took connections again until every API refused to change
   *  anything. */
  stopped_within_ms: number
  sold_after: number
  /** Orders that customers were told of and that are gone. */
  lost: number
  /** Of those, what neither the alert nor the record names. */
  unnamed: number
  alerted: boolean
}

export const isRight = (one: Return): boolean =>
  one.stopped_within_ms < STOPPED_MS_MAX &&
  one.sold_after + one.unnamed === 0 &&
  one.lost > 0 &&
  one.alerted

export async function letOneReturn(): Promise<Return> {
  const servers = await Servers.open(3)
  const rig = await Rig.open({ postgres: servers, env: { PENSTOCK_STANDBYS: '1' } })
  try {
    await Promise.all(ROLES.map((role) => rig.start(role)))
    await rig.fund()
    rig.keepMining(BLOCK_MS)
    const buyers = new Buyers(rig)
    buyers.begin(PEOPLE, PAUSE_MS)
    await untilSold(buyers, 5)
    const old = servers.primary
    await servers.signal(old, 'SIGSTOP')
    await servers.promote()
    await untilSold(buyers, 1)
    await delay(SELLING_MS)
    const stopped_within_ms = await returnOf(servers, old, rig)
    // What had been let in before is answered.
    await delay(ANSWERED_MS)
    const sold = buyers.accepted.size
    for (const other of othersOf(servers, old)) await servers.join(other)
    await servers.commitWith(old, QUORUM)
    await servers.untilReplicated()
    await delay(2 * STOPPED_MS_MAX)
    const sold_after = buyers.accepted.size - sold
    const gone = await buyers.gone()
    const alerted = await isAlerted(rig)
    const accepted = await rig.operate('database', 'accept', '--reason', 'torture', '--json')
    const { missing } = JSON.parse(accepted) as { missing: string[] }
    const unnamed = gone.filter((id) => !missing.includes(`order:${id}`))
    await untilSold(buyers, 1)
    await buyers.endWhenSoldTo()
    return {
      stopped_within_ms,
      sold_after,
      lost: gone.length,
      unnamed: unnamed.length,
      alerted,
    }
  } finally {
    await rig.close()
  }
}

/** The others are gone, and the old primary goes on. Returns after how long every API refused. */
async function returnOf(servers: Servers, old: Server, rig: Rig): Promise<number> {
  await Promise.all(othersOf(servers, old).map((one) => servers.kill(one)))
  await servers.signal(old, 'SIGCONT')
  servers.primary = old
  const began_ms = performance.now()
  // Commits wait for nobody: it sells at once, if it is let.
  await servers.commitWith(old, '')
  await Promise.all(rig.api_urls.map((url) => untilRefused(url, rig)))
  return Math.round(performance.now() - began_ms)
}

const othersOf = ({ all }: Servers, old: Server) => all.filter((one) => one !== old)

/** A check asks neither the chain nor the pool: it is refused only when nothing may be changed. */
async function untilRefused(url: string, { customers, sandbox }: Rig): Promise<void> {
  const call = signedCall(url, customers[0]!)
  const { address } = sandbox.funded_accounts[0]!
  const body = { type: 'address', network: 'TRX', address }
  await until('it goes on selling', async () => {
    const reply = (await call('/v1/aml-checks/new', body).catch(() => undefined)) as
      | Reply
      | undefined
    return reply?.code === REFUSED
  })
}

/** So many orders more. */
function untilSold(buyers: Buyers, more: number): Promise<void> {
  const wanted = buyers.accepted.size + more
  return until('nothing is sold', async () => buyers.accepted.size >= wanted)
}

async function until(otherwise: string, isSo: () => Promise<boolean>): Promise<void> {
  const began_ms = performance.now()
  while (!(await isSo())) {
    if (performance.now() - began_ms > WAIT_MS_MAX) throw new Error(otherwise)
    await delay(10)
  }
}

/** Whether `status` says so; its exit code is 1 then. */
async function isAlerted(rig: Rig): Promise<boolean> {
  const said = await rig.operate('status', '--json').then(
    () => '{"alerts":[]}',
    (ended: { stdout: string }) => ended.stdout,
  )
  const { alerts } = JSON.parse(said) as { alerts: { alert: string }[] }
  return alerts.some(({ alert }) => alert === 'database_went_back')
}
