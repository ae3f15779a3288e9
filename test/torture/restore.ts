// `npm run torture -- restore`: the whole database is lost. Under load a backup is made, a moment
// is noted, and more is sold; then the server and its folder are gone. The backup is played on to
// the moment with the log that was archived. Exactly the orders of the moment must be there, the
// books must hold, what was signed must name what is missing, and a service that is started on it
// must sell and send nothing. `--manner beside` restores it beside processes that go on.

import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Misuse } from 'penstock-service/lib/fault.ts'
import { signedCall } from '../../bench/parts/load.ts'
import { readArguments } from '../../tools/arguments.ts'
import { Buyers, type Reply } from './buyers.ts'
import {
  archiveLog,
  isAlerted,
  LosableServer,
  noteMoment,
  ordersOf,
  prepare,
  restoreTo,
  sell,
  sentBy,
} from './lost_server.ts'
import { isRight, restoreBeside } from './restore_beside.ts'
import { Rig, type Role } from './rig.ts'

const ROLES: readonly Role[] = ['api', 'api', 'worker']
const BLOCK_MS = 200
/** For so long the restored service is watched. */
const RESTING_MS = 4_000
const SECONDS_MAX = 60
const REFUSED = 35

const say = (line: string) => process.stdout.write(`${line}\n`)

type Places = { server: LosableServer; archive: string; backups: string }

export async function run(args: string[]): Promise<boolean> {
  const { numbers, texts, json } = readArguments(args, {
    numbers: { orders: 60 },
    texts: ['manner'],
  })
  const { manner = 'stopped' } = texts
  if (manner !== 'stopped' && manner !== 'beside')
    throw new Misuse('--manner is stopped or beside.')
  const folder = await mkdtemp(join(tmpdir(), 'penstock-restore-'))
  const [backups, archive] = [join(folder, 'backups'), join(folder, 'archive')]
  try {
    await prepare(folder, archive)
    const server = await LosableServer.open(join(folder, 'pg'), archive)
    const places = { server, archive, backups }
    if (manner === 'stopped') return await restoreStopped(places, numbers.orders, json)
    const result = await restoreBeside(places, Math.ceil(numbers.orders / 3))
    say(JSON.stringify(result, null, json ? 0 : 2))
    return isRight(result)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function restoreStopped(
  { server, archive, backups }: Places,
  orders: number,
  json: boolean,
): Promise<boolean> {
  const rig = await Rig.open({ postgres: server })
  try {
    await Promise.all(ROLES.map((role) => rig.start(role)))
    await rig.fund()
    rig.keepMining(BLOCK_MS)
    const buyers = new Buyers(rig)
    const third = Math.ceil(orders / 3)
    await sell(buyers, third)
    await rig.operate('backup', backups)
    await sell(buyers, third)
    const moment = await noteMoment(rig)
    await sell(buyers, third)
    const sold = buyers.accepted.size
    await archiveLog(rig)
    await Promise.all(rig.members.map((member) => member.kill('SIGKILL')))
    await server.lose()
    const began_ms = performance.now()
    const books_balanced = await restoreTo(rig, server, { backups, archive, at: moment.at })
    const seconds = Math.round((performance.now() - began_ms) / 100) / 10
    const restored = await ordersOf(rig)
    const signed_unknown = await signedAndUnknown(rig)
    const rests = await restingService(rig)
    const result = {
      sold,
      orders_at_moment: moment.orders.length,
      restored: restored.length,
      orders_at_moment_exact: JSON.stringify(restored) === JSON.stringify(moment.orders),
      books_balanced,
      seconds,
      signed_unknown,
      ...rests,
    }
    say(JSON.stringify(result, null, json ? 0 : 2))
    return (
      result.orders_at_moment_exact &&
      books_balanced &&
      seconds < SECONDS_MAX &&
      sold > restored.length &&
      signed_unknown > 0 &&
      rests.sold_after + rests.sent_after === 0 &&
      rests.alerted
    )
  } finally {
    await rig.close()
  }
}

/** How many signed transactions are for attempts that the restored database does not have. */
async function signedAndUnknown({ folder, sql }: Rig): Promise<number> {
  const place = join(folder, 'signed')
  const files = (await readdir(place, { recursive: true, withFileTypes: true })).filter((one) =>
    one.isFile(),
  )
  const texts = await Promise.all(
    files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'utf8')),
  )
  const attempts = new Set(
    texts.flatMap((text) => [...text.matchAll(/"attempt":"([^"]+)"/g)].map(([, id]) => id!)),
  )
  const known = await sql<{ id: string }>`
    select id from attempt where id = any(${[...attempts]})`
  return attempts.size - known.length
}

/** The service on the restored database: what it sells and sends although nobody has accepted. */
async function restingService(rig: Rig) {
  const before = await sentBy(rig)
  const orders = (await ordersOf(rig)).length
  await Promise.all([rig.start('api'), rig.start('worker')])
  const call = signedCall(rig.api_urls[0]!, rig.customers[0]!)
  const { address } = rig.sandbox.funded_accounts[0]!
  const body = { service: 'energy', params: { address, amount: 32_000, duration: 1 } }
  const reply = (await call('/v1/transaction/new', { ...body, external_id: 'later' })) as Reply
  await delay(RESTING_MS)
  return {
    refused_with: reply.code,
    sold_after: (await ordersOf(rig)).length - orders + (reply.code === REFUSED ? 0 : 1),
    sent_after: (await sentBy(rig)) - before,
    alerted: await isAlerted(rig),
  }
}
