// The calls about watched addresses, and the readings of them that operators have.

import { type Address, isAddress } from 'penstock-tron/address.ts'
import { type Static, Type } from 'typebox'
import { recordCustomerAction } from '../../ledger/accounts/customer_actions.ts'
import { type Clock, wireTime } from '../../lib/clock.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import {
  type Endpoint,
  endpoint,
  InvalidParams,
  LimitReached,
  NotFound,
  refuses,
} from '../../platform/wire/endpoint.ts'
import { EXAMPLE } from '../../platform/wire/examples.ts'
import {
  LIST_REFUSALS,
  listFields,
  listOf,
  noPlace,
  page,
  rowsFor,
} from '../../platform/wire/lists.ts'
import type { Check } from '../checks/checks.ts'
import { CHECK_COLUMNS, CheckForm, LEVELS, printCheck } from '../checks/forms.ts'
import { REFERENCE_MAX, USD_MAX, type WatchRules } from '../checks/watch_rules.ts'
import {
  type NewWatch,
  unwatch,
  WATCH_COLUMNS,
  WATCHES_MAX,
  type Watch,
  watchWithin,
} from '../checks/watches.ts'

type Needs = { sql: Sql; clock: Clock }

const ADDRESS_REFUSED = refuses(InvalidParams, '`address` is no address of the network', 'address')

const AddressField = Type.String({
  format: 'address',
  fault: () => InvalidParams('address', 'Invalid address'),
})

const RulesForm = Type.Object({
  any_incoming_usd: Type.Union([Type.Integer(), Type.Null()]),
  severe_share_bp: Type.Union([Type.Integer(), Type.Null()]),
  severe_usd: Type.Union([Type.Integer(), Type.Null()]),
  sent_to: Type.Boolean(),
})

const WatchForm = Type.Object({
  address: Type.String(),
  since: Type.String(),
  check: Type.Union([CheckForm, Type.Null()], {
    description: 'The newest; null until the first is placed',
  }),
  level_before: Type.Union([Type.String(), Type.Null()], {
    description: 'The level of the answer that the newest one supersedes',
  }),
  reference: Type.Union([Type.String(), Type.Null()], { description: 'What you call it' }),
  rules: RulesForm,
})

type WatchRow = Pick<Watch, 'address' | 'made_at' | 'reference' | keyof WatchRules> & {
  newest: Check | null
  level_before: string | null
}

const numberOf = (value: bigint | null) => (value === null ? null : Number(value))

const printRules = (rules: WatchRules): Static<typeof RulesForm> => ({
  any_incoming_usd: numberOf(rules.any_incoming_usd),
  severe_share_bp: rules.severe_share_bp,
  severe_usd: numberOf(rules.severe_usd),
  sent_to: rules.sent_to,
})

const printWatch = ({ address, made_at, newest, level_before, reference, ...rules }: WatchRow) => ({
  address,
  since: wireTime(made_at),
  check: newest && printCheck(newest),
  level_before,
  reference,
  rules: printRules(rules),
})

/** Where a page ends. */
type WatchPlace = Pick<Watch, 'made_at' | 'address'>

const placeText = ({ made_at, address }: WatchPlace): string => `${made_at.getTime()}.${address}`

/** Throws 2 when it is no place that a page ended with. */
function readWatchPlace(before: string | undefined): WatchPlace | undefined {
  if (before === undefined) return undefined
  const [, ms, address] = /^(\d{1,14})\.(\w{34})$/.exec(before) ?? []
  if (!isAddress(address)) throw noPlace()
  return { made_at: new Date(Number(ms)), address }
}

/** Watched addresses, newest first, or one of them, with the newest check of each. */
async function readWatches(
  sql: Sql,
  wanted: {
    customer_id: string
    address?: Address | undefined
    /** Of its newest check. */
    level?: string | undefined
    before?: WatchPlace | undefined
    limit: number
  },
): Promise<WatchRow[]> {
  const { customer_id, address = null, level = null, before, limit } = wanted
  const { made_at: before_at = null, address: before_address = null } = before ?? {}
  const watches = await sql<Watch & { level_before: string | null }>`
    with recursive page as (
      select ${WATCH_COLUMNS} from aml_watch as w
      where customer_id = ${customer_id} and (${address}::text is null or address = ${address})
        and (${level}::text is null or exists (
          select from aml_check as c where c.id = w.check_id and c.risk_level = ${level}))
        and (${before_at}::timestamptz is null
          or (made_at, address) < (${before_at}, ${before_address}::text))
      order by made_at desc, address desc limit ${limit}
    ), back as (
      select page.address, c.supersedes as id from page join aml_check as c on c.id = page.check_id
      union all
      select back.address, gone.supersedes from back join aml_check as gone on gone.id = back.id
      where gone.state <> 'completed'
    )
    select page.*, (
      select c.risk_level from back join aml_check as c on c.id = back.id
      where back.address = page.address and c.state = 'completed') as level_before
    from page order by made_at desc, address desc`
  const checks = await sql<Check>`
    select ${CHECK_COLUMNS} from aml_check
    where id = any(${watches.map(({ check_id }) => check_id)})`
  const check_of = new Map(checks.map((check) => [check.id, check]))
  return watches.map((one) => ({ ...one, newest: check_of.get(one.check_id ?? '') ?? null }))
}

const list = ({ sql }: Pick<Needs, 'sql'>): Endpoint =>
  endpoint({
    path: '/v1/aml-watches/list',
    auth: 'signature',
    scope: 'aml',
    summary: 'The addresses that are screened again whenever what is known changes',
    body: Type.Object({
      address: Type.Optional(AddressField),
      level: Type.Optional(
        Type.Enum([...LEVELS], {
          description: 'Of the newest check',
          fault: () => InvalidParams('level', 'Invalid level'),
        }),
      ),
      ...listFields(),
    }),
    reply: listOf(WatchForm),
    faults: [
      ADDRESS_REFUSED,
      refuses(InvalidParams, '`level` is none of the levels', 'level'),
      ...LIST_REFUSALS,
    ],
    async handle({ body: { address, level, before, limit }, customer: { customer_id } }) {
      const filter = { customer_id, address: address as Address | undefined, level }
      const place = readWatchPlace(before)
      const rows = await readWatches(sql, { ...filter, before: place, limit: rowsFor(limit) })
      return page(rows, limit, { print: printWatch, placeOf: placeText })
    },
  })

const refusedRule = () => InvalidParams('rules', 'Invalid rule')

const rule = ([minimum, maximum]: [number, number], description: string) =>
  Type.Optional(Type.Integer({ minimum, maximum, description, fault: refusedRule }))

const NewRules = Type.Object(
  {
    any_incoming_usd: rule([0, USD_MAX], 'A transfer to it of so many dollars or more'),
    severe_share_bp: rule(
      [1, 10_000],
      'What it received of severe categories, in hundredths of a percent of all',
    ),
    severe_usd: rule([1, USD_MAX], 'The same in dollars'),
    sent_to: Type.Optional(
      Type.Boolean({
        fault: refusedRule,
        description: 'It sent money to a severe category, or to who is barred',
      }),
    ),
  },
  {
    fault: () => InvalidParams('rules', 'Invalid rules'),
    description:
      'When you are told (`aml_watch.alert`), beside the level; those that are left out are none',
  },
)

const rulesOf = (given: Static<typeof NewRules>): WatchRules => ({
  any_incoming_usd: given.any_incoming_usd === undefined ? null : BigInt(given.any_incoming_usd),
  severe_share_bp: given.severe_share_bp ?? null,
  severe_usd: given.severe_usd === undefined ? null : BigInt(given.severe_usd),
  sent_to: given.sent_to ?? false,
})

/** True when it was not watched before. Throws LimitReached when too many are. */
async function watchOne(
  tx: Tx,
  { customer_id, made_at, wanted }: { customer_id: string; made_at: Date; wanted: NewWatch },
): Promise<boolean> {
  const added = await watchWithin(tx, { customer_id, made_at, watches: [wanted] })
  if (added === undefined)
    throw LimitReached('watch', `${WATCHES_MAX} addresses are watched already`)
  return added > 0
}

const create = ({ sql, clock }: Needs): Endpoint =>
  endpoint({
    path: '/v1/aml-watch/new',
    keeps_body: true,
    auth: 'signature',
    scope: 'aml',
    mutating: true,
    creates: true,
    second_signature: true,
    summary: 'Watch an address: it is screened now, and again whenever what is known changes',
    description:
      'Without charge. An address that is watched already stays so; a reference and rules that ' +
      'are given take the place of those before.',
    body: Type.Object({
      address: AddressField,
      reference: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: REFERENCE_MAX,
          description: 'What you call it',
          fault: () => InvalidParams('reference', 'Invalid reference'),
        }),
      ),
      rules: Type.Optional(NewRules),
    }),
    reply: WatchForm,
    faults: [
      ADDRESS_REFUSED,
      refuses(InvalidParams, 'It is no text, or too long', 'reference'),
      refuses(InvalidParams, 'A rule is of another kind, or out of its range', 'rules'),
      refuses(LimitReached, `${WATCHES_MAX} addresses are watched already`, 'watch'),
      refuses(NotFound, 'It was removed at the same moment', 'watch'),
    ],
    examples: [
      { summary: 'An address', body: { address: EXAMPLE.address } },
      {
        summary: 'With rules of its own',
        body: {
          address: EXAMPLE.address,
          reference: 'supplier 17',
          rules: { any_incoming_usd: 10_000, severe_share_bp: 500, sent_to: true },
        },
      },
    ],
    async handle({ body: { address, reference, rules }, customer }) {
      const { customer_id } = customer
      const watched = { customer_id, address: address as Address }
      const wanted = {
        address: watched.address,
        ...(reference !== undefined && { reference }),
        ...(rules && { rules: rulesOf(rules) }),
      }
      await sql.begin(async (tx) => {
        const made_at = clock.now()
        const is_new = await watchOne(tx, { customer_id, made_at, wanted })
        if (!is_new && reference === undefined && !rules) return
        const after = { address, ...(reference !== undefined && { reference }), rules }
        const changed = { subject: `aml_watch:${address}`, before: null, after }
        const record = { actor: customer, action: 'aml-watch/new', ...changed }
        await recordCustomerAction(tx, made_at, record)
      })
      const [row] = await readWatches(sql, { ...watched, limit: 1 })
      if (!row) throw NotFound('watch', 'It was removed at the same moment')
      return printWatch(row)
    },
  })

const remove = ({ sql, clock }: Needs): Endpoint =>
  endpoint({
    path: '/v1/aml-watch/remove',
    keeps_body: true,
    auth: 'signature',
    scope: 'aml',
    mutating: true,
    second_signature: true,
    summary: 'Watch an address no longer; its checks stay',
    body: Type.Object({ address: AddressField }),
    reply: Type.Object({ address: Type.String() }),
    faults: [ADDRESS_REFUSED, refuses(NotFound, 'You do not watch it', 'watch')],
    examples: [{ summary: 'An address', body: { address: EXAMPLE.address } }],
    async handle({ body: { address }, customer }) {
      const watched = { customer_id: customer.customer_id, address: address as Address }
      await sql.begin(async (tx) => {
        if (!(await unwatch(tx, watched))) throw NotFound('watch', 'You do not watch this address')
        const changed = { subject: `aml_watch:${address}`, before: { address }, after: null }
        const record = { actor: customer, action: 'aml-watch/remove', ...changed }
        await recordCustomerAction(tx, clock.now(), record)
      })
      return { address }
    },
  })

export const watchRoutes = (needs: Needs): Endpoint[] => [list(needs), create(needs), remove(needs)]

/** The addresses that are watched, with their newest answers, newest first. */
export async function listWatches(
  sql: Sql,
  {
    limit,
    address = null,
    customer = null,
    level = null,
  }: { limit: number; address?: string | null; customer?: string | null; level?: string | null },
) {
  return sql<{
    customer_id: string
    address: string
    made_at: Date
    label_set: number | null
    check_id: string | null
    state: string | null
    risk_score: string | null
    risk_level: string | null
  }>`
    select w.customer_id, w.address, w.made_at, w.label_set, w.check_id, c.state, c.risk_score,
      c.risk_level
    from aml_watch as w left join aml_check as c on c.id = w.check_id
    where (${address}::text is null or w.address = ${address})
      and (${customer}::text is null or w.customer_id = ${customer})
      and (${level}::text is null or c.risk_level = ${level})
    order by w.made_at desc, w.address limit ${limit}`
}

export type LevelChange = {
  customer_id: string
  address: Address
  check_id: string
  from_level: string
  to_level: string
  ended_at: Date
}

/** Answers since an instant whose level is another than that of the answer they supersede, oldest
 *  first. Checks that were never answered are passed over. */
export async function levelChanges(sql: Sql | Tx, since: Date): Promise<LevelChange[]> {
  return sql<LevelChange>`
    with recursive back as (
      select id, supersedes as before_id from aml_check
      where state = 'completed' and ended_at >= ${since} and supersedes is not null
      union all
      select back.id, gone.supersedes from back join aml_check as gone on gone.id = back.before_id
      where gone.state <> 'completed'
    )
    select c.customer_id, c.address, c.id as check_id, before.risk_level as from_level,
      c.risk_level as to_level, c.ended_at
    from back join aml_check as c using (id) join aml_check as before on before.id = back.before_id
    where before.state = 'completed' and c.risk_level <> before.risk_level
    order by c.ended_at, c.id`
}
