// Customers, their statements and their API keys, by the operator's hand. What a new customer's address is derived from and what seals a
// new key's secret come from outside of the database; both are first compared with what the database already has, because
// with the wrong ones deposits would go where nobody looks and keys would never work.

import {
  type Needs as CreateNeeds,
  type CustomerRow,
  createCustomer,
  findCustomer,
  listCustomers,
} from '../customers/customers.ts'
import type { DepositAddress } from '../customers/deposit_addresses.ts'
import { issueKey, type KeyRow, listKeys, resealSecrets, revokeKey, sealingKeysMissing } from '../customers/keys.ts'
import type { Seal } from '../customers/seal.ts'
import type { Scope } from '../http/endpoint.ts'
import { customerAccount } from '../ledger/ledger.ts'
import { wireTime } from '../lib/clock.ts'
import { Fault } from '../lib/fault.ts'
import { trxText } from '../lib/json.ts'
import type { Sql, Tx } from '../lib/sql.ts'
import { type Change, misuse, refusal } from './actions.ts'
import { change, command, flag, LIMIT, many, type Needs, needed, oneOf, text, time, trx, whole } from './command.ts'

const SCOPES: readonly Scope[] = ['read', 'buy', 'aml']

/** The customer. Throws Refused when there is none. */
export async function requireCustomer(sql: Sql | Tx, customer_id: string): Promise<CustomerRow> {
  const customer = await findCustomer(sql, customer_id)
  if (!customer) throw refusal(`There is no customer ${customer_id}.`)
  return customer
}

/** Throws Refused unless the newest customer's address is derived from the same public key. */
export async function requireSameAddresses(tx: Sql | Tx, deposit_address: DepositAddress): Promise<void> {
  const [newest] = await tx<Pick<CustomerRow, 'deposit_index' | 'deposit_address'>>`
    select deposit_index, deposit_address from customer order by deposit_index desc limit 1`
  if (!newest || deposit_address(newest.deposit_index) === newest.deposit_address) return
  throw refusal('The deposit addresses of this database are not from the public key that is configured here.')
}

/** Throws Refused unless the secrets of the keys can be opened. */
export async function requireSameSeal(tx: Sql | Tx, seal: Seal): Promise<void> {
  if ((await sealingKeysMissing(tx, seal)).length > 0)
    throw refusal('The secrets in this database are not sealed with the key that is configured here.')
}

/** Creates a customer. */
export async function addCustomer(
  tx: Tx,
  needs: CreateNeeds,
  { name }: { name: string },
): Promise<Change<CustomerRow>> {
  await requireSameAddresses(tx, needs.deposit_address)
  const customer = await createCustomer(tx, needs, { name })
  const after = { name, deposit_address: customer.deposit_address }
  return { result: customer, actions: [{ subject: `customer:${customer.id}`, before: null, after }] }
}

type Money = { spendable_sun: bigint; held_sun: bigint }

/** Customers with what they have, in the order of creation. */
async function customersWithMoney(sql: Sql, page: { after?: string | undefined; limit: number }) {
  const { after = '', limit } = page
  const customers = await listCustomers(sql, { after, limit })
  const rows = await sql<Money & { id: string }>`
    select id, posted_sun - held_sun as spendable_sun, held_sun from account
    where id = any(${customers.map(({ id }) => customerAccount(id))})`
  const money = new Map(rows.map((row) => [row.id, row]))
  return customers.map(({ id, name, created_at, deposit_address }) => {
    const { spendable_sun, held_sun } = money.get(customerAccount(id)) ?? { spendable_sun: null, held_sun: null }
    return { id, name, spendable_sun, held_sun, deposit_address, created_at }
  })
}

/** Everything about one customer that is not a list without end. */
async function customerShown(sql: Sql, customer_id: string) {
  const { id, name, created_at, deposit_address } = await requireCustomer(sql, customer_id)
  const [money] = await sql<Money>`
    select posted_sun - held_sun as spendable_sun, held_sun from account where id = ${customerAccount(id)}`
  const orders = await sql<{ state: string; orders: bigint; amount_sun: bigint }>`
    select state, count(*) as orders, sum(amount_sun)::bigint as amount_sun from orders where customer_id = ${id}
    group by state order by state`
  const deposits = await sql<{ state: string; deposits: bigint; amount_sun: bigint }>`
    select state, count(*) as deposits, sum(amount_sun)::bigint as amount_sun from deposit where customer_id = ${id}
    group by state order by state`
  const keys = await listKeys(sql, id)
  return { id, name, created_at, deposit_address, ...money, keys: keys.map(keyShown), orders, deposits }
}

/** A key for reading: null is not said, what it means is. */
function keyShown({ id, name, scopes, allowed_networks, daily_cap_sun, require_v2, created_at, revoked_at }: KeyRow) {
  return {
    ...{ id, name, scopes: scopes ?? ['all'], allowed_networks: allowed_networks ?? ['any'] },
    ...{ daily_cap_sun, require_v2, created_at, revoked_at },
  }
}

type KeyOptions = {
  name: string | undefined
  scope: Scope[]
  network: string[]
  daily_cap: bigint | undefined
  require_v2: boolean
}

/** Makes a key. Its token and secret are in the result, and nowhere else. */
async function addKey(tx: Tx, needs: Needs, { customer, ...wanted }: KeyOptions & { customer: string }) {
  const { id: customer_id } = await requireCustomer(tx, customer)
  const seal = await needs.seal()
  await requireSameSeal(tx, seal)
  const { clock, random, new_id } = needs
  const { name = 'key', scope, network, daily_cap: daily_cap_sun, require_v2 } = wanted
  const scopes = scope.length > 0 ? [...new Set(scope)] : undefined
  const allowed_networks = network.length > 0 ? network : undefined
  const limits = { scopes, allowed_networks, daily_cap_sun, require_v2 }
  const issued = await issueKey(tx, { clock, random, new_id, seal }, { customer_id, name, ...limits }).catch(
    (thrown: unknown) => {
      throw thrown instanceof Fault ? misuse(`--network: ${thrown.message}.`) : thrown
    },
  )
  const after = { customer_id, name, ...limits }
  return { result: issued, actions: [{ subject: `key:${issued.key_id}`, before: null, after }] }
}

/** Revokes a key for good. */
async function takeKey(
  tx: Tx,
  { key_id, at }: { key_id: string; at: Date },
): Promise<Change<{ key_id: string; revoked_at: Date }>> {
  const [key] = await tx<{ customer_id: string; name: string; revoked_at: Date | null }>`
    select customer_id, name, revoked_at from api_key where id = ${key_id} for update`
  if (!key) throw refusal(`There is no key ${key_id}.`)
  const { customer_id, name, revoked_at } = key
  if (revoked_at) return { result: { key_id, revoked_at }, actions: [] }
  await revokeKey(tx, { customer_id, key_id, at })
  const action = { subject: `key:${key_id}`, before: { customer_id, name }, after: { revoked_at: at } }
  return { result: { key_id, revoked_at: at }, actions: [action] }
}

/** One entry of the ledger as the customer sees it. */
export type StatementLine = {
  made_at: Date
  id: string
  kind: string
  /** What it was for: the service of an order, or `deposit`, `subscription`, `aml`. */
  service: string
  external_id: string | null
  /** What was added to the balance, or taken from it. */
  amount_sun: bigint
  /** What was added to what is held for open orders, or taken from it. */
  held_sun: bigint
  balance_sun: bigint
  /** The balance less all that is held: what could be spent after this entry. */
  spendable_sun: bigint
}

export type Statement = {
  customer_id: string
  since: Date | null
  until: Date | null
  opening: Figures
  lines: StatementLine[]
  closing: Figures
}

type Figures = { balance_sun: bigint; spendable_sun: bigint }

const NOTHING: Figures = { balance_sun: 0n, spendable_sun: 0n }

/** The entries from `since` on and before `until`. The sums that are kept for balances are not used, so a statement also
 *  shows when those are wrong. */
export async function statementOf(
  sql: Sql,
  wanted: { customer_id: string; since: Date | undefined; until: Date | undefined },
): Promise<Statement> {
  const { customer_id, since = null, until = null } = wanted
  const account = customerAccount(customer_id)
  // With the last entry before the period, which has the opening figures.
  const found = await sql<StatementLine>`
    with entry as (
      select t.made_at, t.id, t.kind, coalesce(t.hold_id, t.id) as cause,
             case when t.kind not in ('move', 'capture') then 0 when t.credit = ${account} then t.amount_sun
                  else -t.amount_sun end as amount_sun,
             case when t.debit <> ${account} then 0 when t.kind = 'hold' then t.amount_sun
                  else -coalesce(hold.amount_sun, 0) end as held_sun
      from transfer as t left join transfer as hold on hold.id = t.hold_id
      where (t.debit = ${account} or t.credit = ${account}) and (${until}::timestamptz is null or t.made_at < ${until})
    ), line as (
      select *, sum(amount_sun) over so_far as balance_sun, sum(amount_sun - held_sun) over so_far as spendable_sun
      from entry window so_far as (order by made_at, id)
    )
    select line.made_at, line.id, line.kind,
           coalesce(o.service, split_part(line.cause, ':', 1)) as service,
           o.external_id, line.amount_sun, line.held_sun, line.balance_sun, line.spendable_sun
    from line left join orders as o on line.cause = 'order:' || o.id and o.customer_id = ${customer_id}
    where ${since}::timestamptz is null or line.made_at >= ${since}
       or line.id = (select id from line where made_at < ${since} order by made_at desc, id desc limit 1)
    order by line.made_at, line.id`
  const lines = found.filter(({ made_at }) => since === null || made_at >= since)
  const figures = ({ balance_sun, spendable_sun }: Figures) => ({ balance_sun, spendable_sun })
  const opening = figures(found.length > lines.length ? found[0]! : NOTHING)
  return { customer_id, since, until, opening, lines, closing: figures(lines.at(-1) ?? opening) }
}

/** The statement as CSV (RFC 4180), amounts in TRX, with a line for the opening and for the closing figures. */
export function statementCsv({ since, until, opening, lines, closing }: Statement): string {
  const head = [
    'made_at',
    'id',
    'kind',
    'service',
    'external_id',
    'amount_trx',
    'held_trx',
    'balance_trx',
    'spendable_trx',
  ]
  const border = (kind: string, at: Date | null, { balance_sun, spendable_sun }: Figures) => [
    ...[at ? wireTime(at) : '', '', kind, '', '', '', ''],
    ...[trxText(balance_sun), trxText(spendable_sun)],
  ]
  const rows = lines.map((line) => [
    ...[wireTime(line.made_at), line.id, line.kind, line.service, harmless(line.external_id ?? '')],
    ...[line.amount_sun, line.held_sun, line.balance_sun, line.spendable_sun].map(trxText),
  ])
  const all = [head, border('opening', since, opening), ...rows, border('closing', until, closing)]
  return all.map((row) => `${row.map(quoted).join(',')}\r\n`).join('')
}

const quoted = (cell: string) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)

/** Text that a customer has chosen, so that no spreadsheet takes it for a formula. */
const harmless = (cell: string) => (/^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell)

const customer = needed(text('CUSTOMER', 'the id of the customer'))

export const customerCommands = [
  change({
    words: 'customers create',
    summary: 'add a customer, with a deposit address and an empty account',
    operands: { name: needed(text('NAME', 'what to call the customer')) },
    async run(tx, needs, { name }) {
      const { clock, new_id } = needs
      const deposit_address = await needs.depositAddress()
      const { result, actions } = await addCustomer(tx, { clock, new_id, deposit_address }, { name })
      const { deposit_index: _, ...value } = result
      return { result: { value, note: `Next: penstock keys issue ${value.id}` }, actions }
    },
  }),
  command({
    words: 'customers list',
    summary: 'customers with what they can spend, in the order of creation',
    options: {
      limit: whole('N', `how many at most (${LIMIT})`, { max: 10_000 }),
      after: text('CUSTOMER', 'only those created after this one: the next page'),
    },
    run: async ({ sql }, { after, limit = LIMIT }) => ({ value: await customersWithMoney(sql, { after, limit }) }),
  }),
  command({
    words: 'customers show',
    summary: 'one customer: money, keys, orders and deposits in sum',
    operands: { customer },
    run: async ({ sql }, { customer }) => ({ value: await customerShown(sql, customer) }),
  }),
  command({
    words: 'customers statement',
    summary: 'what a customer had, paid and got back, from the entries of the ledger',
    details: 'Without a period: everything. A day begins at 00:00 UTC.',
    operands: { customer },
    options: {
      since: time('the first moment of the period'),
      until: time('the first moment after the period'),
      csv: flag('print CSV, amounts in TRX'),
    },
    async run({ sql }, { customer, since, until, csv }) {
      if (since && until && since >= until) throw misuse('--since is not before --until.')
      const { id: customer_id } = await requireCustomer(sql, customer)
      const statement = await statementOf(sql, { customer_id, since, until })
      return csv ? { value: statement, text: statementCsv(statement) } : { value: statement }
    },
  }),
]

export const keyCommands = [
  change({
    words: 'keys issue',
    summary: 'make an API key; its secret is shown this once',
    operands: { customer },
    options: {
      name: text('NAME', 'what to call it (key)'),
      scope: many(oneOf(SCOPES, 'what it may do (everything)')),
      network: many(text('NETWORK', 'where it may be used from, such as 203.0.113.0/24 (anywhere)')),
      daily_cap: trx('TRX', 'the most it may spend in a day (no limit)'),
      require_v2: flag('refuse requests without the second signature, which binds time and path'),
    },
    async run(tx, needs, given) {
      const { result, actions } = await addKey(tx, needs, given)
      return { result: { value: result, note: 'The secret cannot be shown again.' }, actions }
    },
  }),
  command({
    words: 'keys list',
    summary: "a customer's keys, revoked ones included",
    operands: { customer },
    async run({ sql }, { customer }) {
      const { id } = await requireCustomer(sql, customer)
      return { value: (await listKeys(sql, id)).map(keyShown) }
    },
  }),
  change({
    words: 'keys revoke',
    summary: 'end a key for good; servers refuse it within a second',
    operands: { key: needed(text('KEY', 'the id of the key')) },
    async run(tx, _needs, { key, at }) {
      const { result, actions } = await takeKey(tx, { key_id: key, at })
      const note = actions.length > 0 ? 'Revoked.' : 'It was revoked before.'
      return { result: { value: result, note }, actions }
    },
  }),
  change({
    words: 'keys reseal',
    summary: 'seal every secret with the current sealing key, so that older ones can be given up',
    async run(tx, needs) {
      const resealed = await resealSecrets(tx, await needs.seal())
      const action = { subject: 'key', before: null, after: { resealed } }
      return { result: { value: { resealed } }, actions: resealed > 0 ? [action] : [] }
    },
  }),
]
