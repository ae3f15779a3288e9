// `npm run torture -- thieves`: somebody has a role of the database, the database, or a key. All
// that the grants of a role let him write is tried (grants.ts). Then customers buy from a running
// service. Rows are forged that ask for transactions; keys are given that may do too much;
// limits are reached; signing is stopped and goes on. Nothing may leave the wallets that was not
// sold: the chain says, and the auditor at the end.

import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { Misuse } from 'penstock-service/lib/fault.ts'
import { addressToHex } from 'penstock-tron/address.ts'
import { signedCall } from '../../bench/parts/load.ts'
import { readArguments } from '../../tools/arguments.ts'
import { type Forgery, forgeries, plant } from '../simulator/forgeries.ts'
import { Buyers } from './buyers.ts'
import { closePlace, openPlace, type TryResult, tryGrants } from './grants.ts'
import { Ended, Rig } from './rig.ts'

const BLOCK_MS = 200
const PAYMENTS = 20
const LIMIT_TRX = 1_000
const TRX = 1_000_000n
/** What the stolen key may spend in a day, and how often the thief tries to buy. */
const CAP_TRX = 20
const CAP_TRIES = 30

type StolenKey = { key_id: string; token: string; secret: string }
type Result = { findings: string[]; figures: Record<string, number | boolean> }

export async function run(args: string[]): Promise<boolean> {
  const { json, texts } = readArguments(args, { texts: ['only', 'table'] })
  const { only, table = '' } = texts
  if (only !== undefined && only !== 'grants' && only !== 'rig')
    throw new Misuse(`--only is grants or rig, and not ${only}.`)
  const began_ms = performance.now()
  const findings: string[] = []
  const figures: Record<string, number | boolean> = {}
  if (only !== 'rig') {
    const result = await grants(table, json)
    Object.assign(figures, result.figures)
    findings.push(...result.findings)
  }
  if (only !== 'grants') await breakIn(json, { findings, figures })
  const ms = Math.round(performance.now() - began_ms)
  const ok = findings.length === 0
  process.stdout.write(
    `${JSON.stringify({ ok, ms, ...figures, findings: findings.slice(0, 20) })}\n`,
  )
  return ok
}

/** Whatever the roles may write is written, each in a service of this process. */
async function grants(table: string, json: boolean): Promise<Result> {
  const place = await openPlace()
  try {
    const say = ({ grant, name, harm, found }: TryResult) => {
      if (!json && harm.length > 0)
        process.stdout.write(
          `${grant}, ${name}: ${harm.join(', ')}; found by ${found.join(', ')}\n`,
        )
    }
    const { findings, tries, written } = await tryGrants(place, { only: table, say })
    return { findings, figures: { writes_tried: tries, writes_made: written } }
  } finally {
    await closePlace(place)
  }
}

/** A running service, and one thief after the other. */
async function breakIn(json: boolean, { findings, figures }: Result): Promise<void> {
  const rig = await Rig.open()
  try {
    const deeds = { stolenKey, wideKeys, keyedApi, forgedRows, stopped, limited }
    await Promise.all((['api', 'worker'] as const).map((role) => rig.start(role)))
    await rig.fund()
    const buyers = new Buyers(rig)
    buyers.begin(4, 100)
    rig.keepMining(BLOCK_MS)
    for (const [name, deed] of Object.entries(deeds)) {
      const result = await deed(rig)
      Object.assign(figures, result.figures)
      findings.push(...result.findings)
      if (!json)
        process.stdout.write(
          `${name}: ${result.findings.length === 0 ? 'held' : result.findings.join('; ')}\n`,
        )
    }
    findings.push(...(await buyers.findingsAtRest()))
    figures.orders = buyers.accepted.size
  } finally {
    await rig.close()
  }
}

/** An API key with a daily cap is stolen: the thief buys, and subscribes, all that it gives, until
 *  it is revoked. */
async function stolenKey(rig: Rig): Promise<Result> {
  const { sql } = rig
  const { customer_id } = rig.customers[0]!
  const words = [
    'keys',
    'issue',
    customer_id,
    '--name',
    'stolen',
    '--allow-v1',
    '--daily-cap',
    String(CAP_TRX),
  ]
  const issued = JSON.parse(await rig.operate(...words, '--json')) as StolenKey
  const call = signedCall(rig.api_urls[0]!, issued)
  const address = rig.sandbox.funded_accounts[0]!.address
  const energy = (amount: number) => ({
    service: 'energy',
    params: { address, amount, duration: 1 },
  })
  const subscription = {
    subscription_id: 'unlimited_energy',
    params: { address, duration: 0, transactions_limit: 0 },
  }
  const subscribed = await call('/v1/subscription/start', subscription)
  let bought = 0
  for (let tries = 0; tries < CAP_TRIES; tries++) {
    const { code } = await call('/v1/transaction/new', energy(32_000))
    if (code === 0) bought += 1
  }
  const findings: string[] = []
  if (bought === 0) findings.push('the stolen key buys nothing, so this shows nothing')
  if (bought === CAP_TRIES) findings.push('the daily cap ends nothing')
  const spent = async () => {
    const [row] = await sql<{ sun: bigint }>`
      select coalesce(max(spent_sun), 0)::bigint as sun from api_key_spending
        where key_id = ${issued.key_id}`
    return row!.sun
  }
  if ((await spent()) > BigInt(CAP_TRX) * TRX)
    findings.push(`the stolen key spends ${await spent()} sun in a day`)
  await rig.operate('keys', 'revoke', issued.key_id, '--reason', 'stolen')
  await delay(1_000)
  const after = await call('/v1/transaction/new', energy(32_000))
  if (after.code === 0) findings.push('a revoked key buys')
  const running = async () => {
    const rows = await sql`
      select 1 from subscription where key_id = ${issued.key_id}
        and state in ('new', 'pending', 'active')`
    return rows.length
  }
  await rig.until('a subscription outlives its key', async () => (await running()) === 0)
  return {
    findings,
    figures: {
      stolen_key_subscribed: subscribed.code === 0,
      stolen_key_bought: bought,
      stolen_key_spent_sun: Number(await spent()),
      stolen_key_cap_sun: CAP_TRX * Number(TRX),
      revoked_key_code: after.code,
    },
  }
}

/** Workers are started with keys that could do more. */
async function wideKeys(rig: Rig): Promise<Result> {
  const { pool, activation } = rig.sandbox.wallets
  const [owner] = rig.sandbox.owners
  const wide = {
    'the owner permission': {
      pool: [{ ...pool[0]!, permission_id: 0, private_key: owner!.private_key }],
    },
    "the owner's key": { pool: [{ ...pool[0]!, private_key: owner!.private_key }] },
    "another wallet's key": { activation: { ...activation, private_key: pool[0]!.private_key } },
  }
  const findings: string[] = []
  for (const [name, change] of Object.entries(wide)) {
    await rig.writeWallets('wide.json', change)
    const started = await rig.start('worker', [], { wallets_file: 'wide.json' }).then(
      () => true,
      (thrown: unknown) => !(thrown instanceof Ended),
    )
    if (started) findings.push(`a worker starts with ${name}`)
  }
  return { findings, figures: { wide_keys_refused: Object.keys(wide).length - findings.length } }
}

/** An API is given a file with keys. */
async function keyedApi(rig: Rig): Promise<Result> {
  const started = await rig.start('api', [], { wallets_file: 'wallets.json' }).then(
    () => true,
    () => false,
  )
  return {
    findings: started ? ['an API starts with private keys'] : [],
    figures: { keyed_api_refused: !started },
  }
}

/** Rows are written that ask for payments, delegations and activations for a thief. */
async function forgedRows(rig: Rig): Promise<Result> {
  const { sql, node } = rig
  const { wallets, funded_accounts } = rig.sandbox
  const thief = funded_accounts.at(-2)!.address
  await rig.until('nothing is sold', async () => {
    return (
      (await sql`select 1 from orders where state = 'success' and energy > 0 limit 1`).length > 0
    )
  })
  const target = { sql, wallets, thief, now: systemClock.now() }
  const payment: Omit<Forgery, 'name'> = {
    type: 'TransferContract',
    value: {
      owner_address: addressToHex(wallets.refund.address),
      to_address: addressToHex(thief),
      amount: 1_000_000_000n,
    },
    rows: () => undefined,
  }
  const more = Array.from({ length: PAYMENTS }, (_, i) => ({ ...payment, name: `payment ${i}` }))
  const planted = [...(await forgeries(target)).filter(({ alters }) => !alters), ...more]
  const before = await node.account(thief)
  for (const [i, forgery] of planted.entries()) await plant(target, forgery, `forged${i}`)
  await rig.until('the signer looks at nothing', async () => {
    const unseen = await sql`
      select 1 from attempt where starts_with(id, 'forged') and refused_at is null and tx_id is null
        limit 1`
    return unseen.length === 0
  })
  const signed = await sql<{ id: string }>`
    select id from attempt where starts_with(id, 'forged') and tx_id is not null`
  const findings = signed.map(({ id }) => `${planted[Number(id.slice(6))]!.name} was signed`)
  await delay(5 * BLOCK_MS)
  const after = await node.account(thief)
  if (after.balance_sun !== before.balance_sun)
    findings.push(`the thief has ${after.balance_sun} sun`)
  const alert = await rig.report('status', '--json')
  if (!alert.includes('signing_refused'))
    findings.push('no alert says that signatures were refused')
  await cleanUp(rig)
  return { findings, figures: { forged_rows: planted.length, forged_rows_signed: signed.length } }
}

/** The forged rows are taken away: the check at the end is about what was sold. */
async function cleanUp({ sql }: Rig): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`delete from delegation where starts_with(id, 'forged')`
    await tx`delete from deposit where starts_with(tx_id, 'forged')`
    await tx`delete from activation where starts_with(id, 'forged')`
    await tx`delete from orders where starts_with(id, 'forged')`
    await tx`delete from attempt where starts_with(id, 'forged')`
  })
}

/** Signing is stopped while customers buy, turned on again by a row without a record, and by an
 *  operator. */
async function stopped(rig: Rig): Promise<Result> {
  const { sql } = rig
  const findings: string[] = []
  const countSigned = async () => {
    const [row] = await sql<{ count: bigint }>`select count(*) from attempt where tx_id is not null`
    return row!.count
  }
  await rig.operate('signer', 'stop', '--reason', 'a test')
  // A batch that was under way may still be stored.
  await delay(1_000)
  const at_stop = await countSigned()
  await sql`update signing set stopped = false`
  await delay(3_000)
  const waiting = await sql`select 1 from attempt where state = 'new'`
  const while_stopped = (await countSigned()) - at_stop
  if (while_stopped > 0n)
    findings.push(`${while_stopped} transactions were signed while signing was stopped`)
  if (waiting.length === 0)
    findings.push('nothing waited for a signature while signing was stopped')
  await rig.operate('signer', 'go', '--reason', 'the test is over')
  const go_ms = performance.now()
  await rig.until('nothing is signed after signer go', async () => (await countSigned()) > at_stop)
  return {
    findings,
    figures: {
      signed_while_stopped: Number(while_stopped),
      waited_while_stopped: waiting.length,
      signed_again_after_ms: Math.round(performance.now() - go_ms),
    },
  }
}

/** A worker that may sign little is all there is: no more than that leaves. */
async function limited(rig: Rig): Promise<Result> {
  const { sql } = rig
  const workers = rig.members.filter(({ role }) => role === 'worker')
  await rig.writeWallets('limited.json', { limits: { delegated_trx_hour: LIMIT_TRX } })
  await Promise.all(workers.map((worker) => worker.kill('SIGTERM')))
  // What went before counts: the new worker reads what was signed, and is above its limit at once.
  const delegated = async () => {
    const [row] = await sql<{ count: bigint }>`
      select count(*) from attempt where tx_id is not null and starts_with(subject, 'delegate:')`
    return row!.count
  }
  const before = await delegated()
  const worker = await rig.start('worker', [], { wallets_file: 'limited.json' })
  await rig.until('the limit stops nothing', async () => {
    return (
      (await sql`select 1 from attempt where answer like 'it is above a limit%' limit 1`).length > 0
    )
  })
  const more = (await delegated()) - before
  const findings = more > 0n ? [`${more} delegations were signed above the limit`] : []
  await worker.kill('SIGTERM')
  await rig.start('worker')
  return { findings, figures: { signed_above_limit: Number(more) } }
}
