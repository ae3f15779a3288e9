// Somebody has the password of one role of the database. Everything that he may write by the
// grants that the database itself names is tried, each in a whole service with orders under way:
// the steps run, he buys with what he then has, and asks for receipts. Compared is what was signed,
// what customers have, who may sign in at the console and what receipts say; what is different must
// be named by a check of the books, the one that the list of opinions expects. A grant without an
// opinion is a finding, as is an opinion that nothing bears out.

import { isDeepStrictEqual } from 'node:util'
import type { Receipt } from 'penstock-sdk/receipts'
import { lookAtBooks } from 'penstock-service/health/books/books.ts'
import { chainView } from 'penstock-service/health/books/chain.ts'
import type { Sql } from 'penstock-service/platform/database/sql.ts'
import { dueAsker } from 'penstock-service/platform/steps/due.ts'
import { drain, type Step } from 'penstock-service/platform/steps/step.ts'
import { SCOPES } from 'penstock-service/platform/wire/endpoint.ts'
import { addressToHex } from 'penstock-tron/address.ts'
import pg from 'pg'
import { asRole, emptyTables } from '../harness/database.ts'
import { callExamples, prepareExamples } from '../harness/examples.ts'
import { type Grant, grantsOf, otherRights, THIEVES, type Thief } from '../harness/grants.ts'
import { sender, subscribe, wanted } from '../harness/subscribers.ts'
import { joinedByPasskey, joinedByPassword, linkFor } from '../harness/users.ts'
import { type Customer, openWorld, TRX, type World } from '../harness/world.ts'
import { opinionOf, opinionsMissing } from './grant_opinions.ts'
import { type Loot, type Try, triesOf } from './grant_tries.ts'

/** Longer than a step waits that was told that nothing is signed. */
const LATER_SECONDS = 10

type Place = {
  world: World
  loot: Loot
  thief: Customer
  clients: ReadonlyMap<Thief, pg.Client>
  owner: pg.Client
  due_sql: Sql
  /** An admin of the console. */
  house_user: string
}

/** What is compared. */
type Outcome = {
  signed: string[]
  /** What each customer may spend. */
  funds: Map<string, bigint>
  /** The house's people and what they sign in with, and the keys that receipts are verified by. */
  console: string
  receipts: Map<string, ReceiptFacts>
  /** For what the thief has just bought. */
  spent_sun: bigint
  /** What was given back for orders that were not delivered. */
  given_back: Map<string, bigint>
}

export type TryResult = {
  grant: string
  name: string
  /** How many statements have changed a row. */
  written: number
  refused?: string
  harm: string[]
  found: string[]
}

type GrantReport = {
  findings: string[]
  tries: number
  written: number
  results: TryResult[]
}

/** A service in the middle of its work: everything has been sold once, and purchases, a refund, a
 *  recharge and an activation wait for their signatures. `examples`: also what every endpoint's
 *  example makes, so that no table is empty that those fill. */
export async function openPlace({ examples = true } = {}): Promise<Place> {
  const world = await openWorld({ seed: 'grants', together: true })
  await prepareExamples(world)
  const honest = await world.customer({ trx: 1_000, scopes: [...SCOPES] })
  if (examples) await callExamples(world, honest)
  const thief = await world.customer({ trx: 500, scopes: [...SCOPES] })
  const { address } = world.person('mallory', 10)
  const payer = world.person('payer')
  const recharge = (trx: bigint) => world.pay(world.recharge.address, trx * TRX, payer)
  await subscribe(world, thief, wanted(sender(world).address))
  await thief.buyEnergy(address, 65_000)
  await thief.call('/v1/transaction/new', { service: 'energy', params: { address: 'nobody' } })
  await joinedByPassword(world, { customer_id: thief.id })
  await joinedByPasskey(world, { customer_id: thief.id })
  await linkFor(world, { customer_id: thief.id }, 'join')
  const { user_id: house_user } = await linkFor(world, { customer_id: null, role: 'admin' })
  recharge(1n)
  await world.solidify()
  await world.settle()
  await world.solidify()
  // From here on nothing that is signed gets anywhere, and what is asked for is not signed yet.
  world.network.loses = () => true
  await world.sql`update signing set stopped = true`
  recharge(1n)
  recharge(2n)
  await honest.buyEnergy(world.person('nina', 1).address, 32_000)
  const unknown = world.person('nobody').address
  await honest.buy({ service: 'activate_address', params: { address: unknown } })
  world.mine(20)
  await world.drain()
  world.wait(2)
  await world.drain()
  await honest.buyEnergy(world.person('nina').address, 33_000)
  // The thief takes the cheapest: a copy of one for more, at its price, is worth nothing to him.
  for (const [who, amount] of [
    [honest, 50_000],
    [thief, 40_000],
  ] as const) {
    const params = { address, amount, duration: 1 }
    await who.get('/v1/quote/new', { service: 'energy', params })
  }
  const { database } = world
  await database.keepRows()
  const clientOf = async (url: string) => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    return client
  }
  const clients = new Map<Thief, pg.Client>()
  for (const role of THIEVES) clients.set(role, await clientOf(asRole(database.url, role)))
  const owner = await clientOf(database.url)
  const due = { connections_max: 1, role: 'penstock_worker', plans_once: true } as const
  const loot = { address, address_hex: addressToHex(address), customer_id: thief.id }
  const due_sql = database.connect(due)
  return { world, loot, thief, clients, owner, due_sql, house_user }
}

export async function closePlace({ world, clients, owner, due_sql }: Place): Promise<void> {
  for (const client of [owner, ...clients.values()]) await client.end()
  await due_sql.close()
  await world.discard()
}

/** What comes of the rows as they are: the thief buys, and the steps run. */
async function outcomeAfter(place: Place): Promise<Outcome> {
  const { world, due_sql } = place
  world.signed.length = 0
  const { app, api } = await world.startProcess({ together: true })
  try {
    await world.sql`update signing set stopped = false`
    const spent_sun = await buy(place, api)
    world.wait(LATER_SECONDS)
    await drain(app.steps.map(goingOn), { ask: dueAsker(due_sql, app.steps) })
    world.wait(-LATER_SECONDS)
    return {
      // What is taken back is ours.
      signed: world.signed
        .filter(({ type }) => type !== 'UnDelegateResourceContract')
        .map(({ type, receiver, sun }) => `${type} ${receiver} ${sun}`)
        .sort(),
      funds: await fundsOf(place, spent_sun),
      given_back: await givenBack(world),
      console: await consoleOf(world, api),
      receipts: await receiptsOf(place, api),
      spent_sun,
    }
  } finally {
    await world.endProcess(app)
  }
}

/** As in production, where a step that fails is run again later, and stops no other. */
const goingOn = (step: Step): Step => ({ ...step, run: () => step.run().catch(() => false) })

/** The thief buys one thing at the list price, and one by the cheapest of his quotes. Returns what
 *  he was asked for. */
async function buy({ world, thief, loot }: Place, api: World['api']): Promise<bigint> {
  const params = { address: loot.address, amount: 34_000, duration: 1 }
  const body = { service: 'energy', params, external_id: 'loot' }
  const quotes = await world.sql<{ id: string }>`
    select id from quote where customer_id = ${thief.id} order by amount_sun, id`
  const bought = [await thief.call('/v1/transaction/new', body, {}, api)]
  for (const { id } of quotes) {
    const accepted = await thief.call('/v1/quote/accept', { id }, {}, api)
    bought.push(accepted)
    if (accepted.code === 0) break
  }
  return bought.reduce((sum, { code, result }) => {
    return code === 0 ? sum + BigInt(Math.round(Number(result.amount) * 1e6)) : sum
  }, 0n)
}

/** What each customer may spend, and has just spent; what a subscription sets aside for its next
 *  use comes and goes. */
async function fundsOf({ world, thief }: Place, spent_sun: bigint): Promise<Map<string, bigint>> {
  const rows = await world.sql<{ id: string; sun: bigint }>`
    select id, posted_sun - held_sun + coalesce((select sum(amount_sun)::bigint from transfer as h
      where h.debit = account.id and kind = 'hold' and h.id like 'subscription:%/next/%'
        and not exists (select from transfer as r where r.hold_id = h.id)), 0) as sun
    from account where starts_with(id, 'customer:')`
  const spent = (id: string) => (id === `customer:${thief.id}` ? spent_sun : 0n)
  return new Map(rows.map(({ id, sun }) => [id, sun + spent(id)]))
}

/** What was given back for orders that have failed, to each account. */
async function givenBack({ sql }: World): Promise<Map<string, bigint>> {
  const rows = await sql<{ id: string; sun: bigint }>`
    select 'customer:' || o.customer_id as id, sum(o.amount_sun)::bigint as sun
    from orders as o join transfer as r on r.hold_id = 'order:' || o.id and r.kind = 'release'
    where o.state = 'failed' group by 1`
  return new Map(rows.map(({ id, sun }) => [id, sun]))
}

async function consoleOf({ sql }: World, api: World['api']): Promise<string> {
  const rows = await sql<{ text: string }>`
    with house as (select * from service_user where customer_id is null)
    select row(house.*)::text as text from house
    union all select row(s.*)::text from user_session as s join house on house.id = user_id
    union all select row(s.*)::text from user_password as s join house on house.id = user_id
    union all select row(s.*)::text from passkey as s join house on house.id = user_id
    union all select row(s.*)::text from user_link as s join house on house.id = user_id
    union all select row(s.*)::text from recovery_code as s join house on house.id = user_id
    order by 1`
  const keys = await api.inject({ method: 'GET', url: '/.well-known/jwks.json' })
  return [...rows.map(({ text }) => text), keys.body].join('\n')
}

type ReceiptFacts = Pick<Receipt, 'order' | 'parts' | 'activation'>

/** What the receipts of the thief's orders say of what was delivered. */
async function receiptsOf({ world, thief }: Place, api: World['api']) {
  const orders = await world.sql<{ id: string }>`
    select id from orders where customer_id = ${thief.id} order by id`
  const receipts = new Map<string, ReceiptFacts>()
  for (const { id } of orders) {
    const { code, result } = await thief.call('/v1/receipt', { id }, {}, api)
    if (code !== 0) continue
    const { order, parts, activation } = result.receipt as Receipt
    receipts.set(id, { order, parts, activation })
  }
  return receipts
}

/** A receipt that says less proves less: what it leaves out is as it was. Nor is what somebody has
 *  asked for a proof of anything. */
const saidBy = (receipt: ReceiptFacts, before: ReceiptFacts | undefined): ReceiptFacts => ({
  ...receipt,
  activation: receipt.activation && {
    ...receipt.activation,
    block_id: receipt.activation.block_id ?? before?.activation?.block_id ?? null,
  },
  order: {
    ...receipt.order,
    params: { ...receipt.order.params, activate_address: before?.order.params.activate_address },
  },
  parts: receipt.parts.map((part, i) => ({
    ...part,
    block_id: part.block_id ?? before?.parts[i]?.block_id ?? null,
    units_of_stake: part.units_of_stake ?? before?.parts[i]?.units_of_stake ?? null,
  })),
})

/** The rules of the books that something breaks, by rows and by a node. */
async function rulesBroken(world: World): Promise<string[]> {
  const chain = chainView([{ url: 'http://devchain' }], async ({ url, body }) =>
    world.scene.devchain.request('POST', new URL(url).pathname, body),
  )
  const reports = await lookAtBooks({ sql: world.sql, chain })
  const broken = reports.filter(({ findings }) => findings.length > 0)
  return [...new Set(broken.map(({ rule }) => rule))]
}

/** How much worse it is than without the thief. */
function harmOf({ address }: Loot, before: Outcome, after: Outcome): string[] {
  const harm: string[] = []
  const honest = [...before.signed]
  for (const one of after.signed) {
    const at = honest.indexOf(one)
    if (at < 0) harm.push(`signed: ${one}`)
    else honest.splice(at, 1)
  }
  const undelivered = after.signed.length < before.signed.length
  for (const [id, sun] of after.funds) {
    const back_sun = (after.given_back.get(id) ?? 0n) - (before.given_back.get(id) ?? 0n)
    const more_sun = sun - (before.funds.get(id) ?? 0n) - (undelivered ? back_sun : 0n)
    if (more_sun > 0n) harm.push(`${id} has ${more_sun} sun more`)
  }
  if (after.console !== before.console)
    harm.push('the console has other people, or receipts other keys')
  for (const [id, receipt] of after.receipts)
    if (!isDeepStrictEqual(saidBy(receipt, before.receipts.get(id)), before.receipts.get(id)))
      harm.push(`another receipt for ${id}`)
  const got = ({ signed }: Outcome) => signed.filter((one) => one.includes(address)).length
  if (after.spent_sun < before.spent_sun && got(after) >= got(before))
    harm.push(`sold for ${after.spent_sun} sun instead of ${before.spent_sun}`)
  return harm
}

/** Writes it; undefined when that has changed a row. */
async function refusalOf({ clients }: Place, { role, text, values }: Try) {
  return clients
    .get(role)!
    .query(text, values)
    .then(
      ({ rowCount }) => (rowCount === 0 ? 'no row' : undefined),
      (thrown: Error) => thrown.message,
    )
}

/** Writes all of it, as far as it is not refused, and looks what comes of it. */
async function resultOf(
  place: Place,
  tries: readonly Try[],
  before: Outcome,
): Promise<Omit<TryResult, 'grant' | 'name'>> {
  await emptyTables(place.world.sql)
  const refusals: (string | undefined)[] = []
  for (const one of tries) refusals.push(await refusalOf(place, one))
  const written = refusals.filter((one) => one === undefined).length
  if (written === 0) return { written, refused: refusals.join('; '), harm: [], found: [] }
  const after = await outcomeAfter(place)
  const harm = harmOf(place.loot, before, after)
  const found = harm.length === 0 ? [] : await rulesBroken(place.world)
  return { written, harm, found }
}

/** `only`: what is in the names of the tables. */
export async function tryGrants(
  place: Place,
  { only = '', say = () => {} }: { only?: string; say?: (result: TryResult) => void } = {},
): Promise<GrantReport> {
  const { sql } = place.world
  const all = await grantsOf(sql)
  const grants = all.filter(({ word, table }) => word !== 'select' && table.includes(only))
  const rights = (await otherRights(sql)).map(({ role, right }) => `${role} may ${right}`)
  await emptyTables(sql)
  const tries = await triesOf(place.owner, grants, place.loot)
  const before = await outcomeAfter(place)
  const results: TryResult[] = []
  for (const together of groupsOf(tries)) {
    const grant = `${together[0]!.role} ${together[0]!.table}`
    const tell = (name: string, found: Omit<TryResult, 'grant' | 'name'>) => {
      results.push({ grant, name, ...found })
      say({ grant, name, ...found })
    }
    const result = await resultOf(place, together, before)
    if (together.length === 1 || result.harm.length === 0)
      tell(together.map(({ name }) => name).join('; '), result)
    else for (const one of together) tell(one.name, await resultOf(place, [one], before))
  }
  await emptyTables(sql)
  const findings = [...rights, ...opinionsMissing(all), ...judge(grants, results)]
  findings.push(...(await tryBreakIns(place, before)))
  const written = results.reduce((sum, one) => sum + one.written, 0)
  return { findings, tries: tries.length, written, results }
}

/** The break-ins that somebody has thought of, each of several rows. */
async function tryBreakIns(place: Place, before: Outcome): Promise<string[]> {
  const wrong: string[] = []
  for (const { name, role, texts, found_by, pays } of breakIns(place)) {
    const tries = texts.map((text) => ({ role, table: '', name, text, values: [] }))
    const { harm, refused, written } = await resultOf(place, tries, before)
    if (written === 0) {
      if (found_by !== 'refused') wrong.push(`${name} is refused: ${refused}`)
      continue
    }
    if (found_by === 'refused') wrong.push(`${name} is not refused`)
    if (harm.length > 0 !== pays) wrong.push(`${name}: ${harm.join(', ') || 'nothing is signed'}`)
    const broken = await rulesBroken(place.world)
    if (!['refused', 'nothing'].includes(found_by) && !broken.includes(found_by))
      wrong.push(`${name}: ${found_by} finds nothing, but ${broken.join(', ')}`)
  }
  return wrong
}

type BreakIn = {
  name: string
  role: Thief
  texts: string[]
  /** The rule of the books that names it, `refused` by the database, or `nothing`: nobody heard. */
  found_by: string
  /** Whether it brings him something until then. */
  pays: boolean
}

function breakIns(place: Place): BreakIn[] {
  const { address, customer_id } = place.loot
  const { world } = place
  const now = `'${world.now.toISOString()}'::timestamptz`
  const recharged = world.recharge.address
  return [
    ...refusedBreakIns(place),
    {
      name: 'a deposit that never was, to be sent back',
      role: 'penstock_worker',
      texts: [
        `insert into deposit (tx_id, position, from_address, to_address, amount_sun, block_number,
           block_time, state, reason, solid_at, due_at, seen_at)
         values (repeat('ab', 32), 0, '${address}', '${recharged}', 1000000, 1, ${now},
           'returning', 'forged', ${now}, ${now}, ${now})`,
        `insert into transfer (id, kind, debit, credit, amount_sun, made_at)
         values ('deposit:' || repeat('ab', 32), 'move', 'world', 'customer:direct_recharge',
           1000000, ${now})`,
      ],
      found_by: 'C6',
      pays: true,
    },
    {
      name: 'an order with a hold of one sun',
      role: 'penstock_api',
      texts: [
        `insert into orders (id, customer_id, service, address, energy, activate, state,
           to_delegate, amount_sun, due_at, created_at)
         values ('forged', '${customer_id}', 'energy', '${address}', 3000000, false, 'new', true, 1,
           ${now}, ${now})`,
        `insert into transfer (id, kind, debit, credit, amount_sun, made_at)
         values ('order:forged', 'hold', 'customer:${customer_id}', 'revenue', 1, ${now})`,
        `insert into event_note (customer_id, type, subject, at, data)
         values ('${customer_id}', 'order.created', 'forged', ${now}, '{}')`,
      ],
      found_by: 'C17',
      pays: false,
    },
    {
      name: 'a balance that is spent twice',
      role: 'penstock_api',
      texts: [`update account set held_sun = 0 where id = 'customer:${customer_id}' returning id`],
      found_by: 'nothing',
      pays: false,
    },
  ]
}

/** What the database lets nobody write. */
function refusedBreakIns({ loot: { customer_id }, world, house_user }: Place): BreakIn[] {
  const now = `'${world.now.toISOString()}'::timestamptz`
  const session = `insert into user_session (id, token_hash, user_id, made_at, used_at, ends_at, ip,
      browser) values ('forged', repeat('a', 43), '${house_user}', ${now}, ${now},
      ${now} + interval '1 hour', '192.0.2.9', 'x')`
  const key = `insert into signing_key (id, public_key, made_at, retired_at)
    values ('forged', 'forged', ${now}, ${now})`
  return [
    {
      name: "an admin's session",
      role: 'penstock_api',
      texts: [session],
      found_by: 'refused',
      pays: false,
    },
    {
      name: "a worker's session for an admin",
      role: 'penstock_worker',
      texts: [session],
      found_by: 'refused',
      pays: false,
    },
    {
      name: "a key for receipts, by the API's role",
      role: 'penstock_api',
      texts: [key],
      found_by: 'refused',
      pays: false,
    },
    {
      name: "a key for receipts, by a worker's role",
      role: 'penstock_worker',
      texts: [key],
      found_by: 'refused',
      pays: false,
    },
    {
      name: 'money from nowhere, by the role of the API',
      role: 'penstock_api',
      texts: [
        `insert into transfer (id, kind, debit, credit, amount_sun, made_at)
         values ('forged', 'move', 'world', 'customer:${customer_id}', 1000000, ${now})`,
      ],
      found_by: 'refused',
      pays: false,
    },
  ]
}

/** One by one where a write may be worth something; else all of a grant at once, and one by one
 *  only when that has come to something. */
function groupsOf(tries: readonly Try[]): Try[][] {
  const groups = new Map<string, Try[]>()
  for (const one of tries) {
    const { role, table, name } = one
    const alone = opinionOf(table, role)?.one_by_one ?? true
    const key = `${role} ${table} ${alone ? name : name.split(' ')[0]}`
    groups.set(key, [...(groups.get(key) ?? []), one])
  }
  return [...groups.values()]
}

/** Holds what came of the tries against the opinions. */
function judge(grants: readonly Grant[], results: readonly TryResult[]): string[] {
  const findings: string[] = []
  for (const { grant, name, harm, found } of results) {
    const [role = '', table = ''] = grant.split(' ')
    const found_by = opinionOf(table, role as Thief)?.found_by ?? []
    if (harm.length > 0 && !found.some((rule) => found_by.includes(rule)))
      findings.push(
        `${grant}, ${name}: ${harm.join(', ')}; found by ${found.join(', ') || 'nothing'}`,
      )
  }
  for (const key of new Set(grants.map(({ role, table }) => `${role} ${table}`))) {
    const [role = '', table = ''] = key.split(' ')
    const own = results.filter(({ grant }) => grant === key)
    const seen = new Set(own.filter(({ harm }) => harm.length > 0).flatMap(({ found }) => found))
    for (const rule of opinionOf(table, role as Thief)?.found_by ?? [])
      if (!seen.has(rule)) findings.push(`${key}: ${rule} finds nothing of what was tried`)
  }
  return findings
}
