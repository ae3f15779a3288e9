// Screening on the wire.

import { Type } from 'typebox'
import { InsufficientFunds, WalletNotFound } from '../../ledger/accounts/ledger.ts'
import type { Clock } from '../../lib/clock.ts'
import { type FaultKind, fault } from '../../lib/fault.ts'
import { type Json, money } from '../../lib/json.ts'
import { cappedKey } from '../../people/customers/spending.ts'
import type { Sql } from '../../platform/database/sql.ts'
import {
  type Endpoint,
  EXTERNAL_ID_REFUSALS,
  endpoint,
  externalId,
  InvalidParams,
  Money,
  NotFound,
  refuses,
  ServiceUnavailable,
  Suspended,
  unchecked,
} from '../../platform/wire/endpoint.ts'
import { EXAMPLE } from '../../platform/wire/examples.ts'
import { PAGE_REFUSALS, pageFields, pageOf } from '../../platform/wire/paging.ts'
import { word } from '../../platform/wire/schemas.ts'
import { CHECK_STATES, findCheck } from '../checks/checks.ts'
import { CheckForm, printCheck } from '../checks/forms.ts'
import { checkHistory, supersedingCheck } from '../checks/history.ts'
import { type CheckPlacement, checkPrices, type NewCheck } from '../checks/placing.ts'
import { COUNTERPARTIES, counterpartyIn } from '../engine/counterparty.ts'
import { readEvidence } from '../engine/evidence.ts'
import { NETWORKS } from '../engine/networks.ts'
import { currentPolicy } from '../engine/policy.ts'
import { readLevels } from './context.ts'
import { watchRoutes } from './watch_routes.ts'

const CheckNotFound: FaultKind = fault(30, 'aml_check_not_found', 'AML check not found')

export type Needs = {
  sql: Sql
  placeCheck: (wanted: NewCheck) => Promise<CheckPlacement>
}

const noNetwork = () =>
  InvalidParams('network', 'Unsupported network').at('network', 'TRX, or what your operator adds')

/** The network of a check, if the policy has somebody who screens it. */
async function readNetwork(
  sql: Sql,
  network: string,
  type: string,
): Promise<(typeof NETWORKS)[string]> {
  const known = Object.hasOwn(NETWORKS, network) ? NETWORKS[network] : undefined
  const { routes } = await currentPolicy(sql)
  if (!known || !routes[`${network}/${type}`]) throw noNetwork()
  return known
}

const isAbsent = (value: Json | undefined): value is undefined | null | '' =>
  value === undefined || value === null || value === ''

const HASH_RULE = 'the id of a transaction, 64 hexadecimal characters'

function readHash(value: Json | undefined, pattern: RegExp): string {
  if (isAbsent(value))
    throw InvalidParams('hash', 'Hash is required for hash checks').at('hash', HASH_RULE)
  if (typeof value !== 'string' || !pattern.test(value))
    throw InvalidParams('hash', 'Invalid hash').at('hash', HASH_RULE)
  return value.toLowerCase()
}

/** A deposit when nothing is said: half of the clients leave it out then. */
function readDirection(value: Json | undefined): 'deposit' | 'withdrawal' {
  if (isAbsent(value)) return 'deposit'
  if (value !== 'deposit' && value !== 'withdrawal')
    throw InvalidParams('direction', 'Invalid direction value').at(
      'direction',
      'one of "deposit", "withdrawal"',
    )
  return value
}

const types = ({ sql }: Needs): Endpoint =>
  endpoint({
    path: '/v1/aml-checks',
    auth: 'signature',
    scope: 'aml',
    summary: 'Types of checks on sale and their prices',
    body: Type.Object({}),
    reply: Type.Array(
      Type.Object({
        id: Type.String(),
        type: Type.String({ description: 'address, hash' }),
        price: Money({ description: 'TRX for one check' }),
      }),
    ),
    faults: [],
    examples: [{ summary: 'All of them', body: {} }],
    async handle() {
      return [...(await checkPrices(sql))].flatMap(([type, { price_sun, on_sale }]) =>
        on_sale ? [{ id: type, type, price: money(price_sun) }] : [],
      )
    },
  })

const PlaceBody = Type.Object({
  type: Type.Enum(['address', 'hash']),
  network: Type.String({
    maxLength: 16,
    description: 'TRX; others when the operator has a provider for them',
    fault: () => InvalidParams('network', 'Unsupported network'),
  }),
  address: unchecked(
    Type.String({
      description: 'What to screen; for a hash check, the recipient in the transaction',
    }),
  ),
  hash: Type.Optional(
    unchecked(Type.String({ description: 'Needed for a hash check: 64 hexadecimal characters' })),
  ),
  direction: Type.Optional(
    unchecked(
      Type.String({
        description:
          'For a hash check: deposit (the sender is judged by the money it sent; ' +
          'also when absent) or withdrawal (the recipient is)',
      }),
    ),
  ),
})

const PLACE_REFUSALS = [
  refuses(InvalidParams, '`network` is not one that is screened', 'network'),
  refuses(InvalidParams, '`address` is not an address of the network', 'address'),
  refuses(InvalidParams, '`hash` is missing from a hash check, or is not one', 'hash'),
  refuses(InvalidParams, '`direction` is neither deposit nor withdrawal', 'direction'),
  ...EXTERNAL_ID_REFUSALS,
  refuses(InvalidParams, 'The Idempotency-Key was used for another check', 'external_id'),
  refuses(ServiceUnavailable, 'This type of check is off sale'),
  refuses(
    ServiceUnavailable,
    'A hash check, while 200 are under way, or on a day when 1,000 checks have ' +
      'failed and fewer were completed',
    'too_many_checks',
  ),
  refuses(WalletNotFound, 'The customer has no wallet'),
  refuses(InsufficientFunds, 'The balance is below the price'),
  refuses(InsufficientFunds, 'The daily cap of the key would be passed', 'daily_cap'),
]

const place = ({ sql, placeCheck }: Needs): Endpoint =>
  endpoint({
    path: '/v1/aml-checks/new',
    keeps_body: true,
    auth: 'signature',
    scope: 'aml',
    mutating: true,
    creates: true,
    repeats: true,
    summary: 'Screen an address, or the other side of a transaction',
    description:
      'The price is set aside at once, charged when the check is completed, ' +
      'and given back when it fails. The header `Idempotency-Key` makes a repeated call ' +
      'return the same check. A check never needs a connection to a wallet.',
    body: PlaceBody,
    reply: CheckForm,
    faults: PLACE_REFUSALS,
    examples: [
      {
        summary: 'An address',
        body: { type: 'address', network: 'TRX', address: EXAMPLE.address },
      },
      {
        summary: 'A network that is not screened',
        body: {
          type: 'address',
          network: 'BTC',
          address: 'bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq',
        },
      },
    ],
    async handle({ body, customer, headers, reply_headers }) {
      const { type, network } = body
      const { isAddress, hash: pattern } = await readNetwork(sql, network, type)
      const { address } = body
      if (typeof address !== 'string' || !isAddress(address)) {
        throw InvalidParams('address', 'Invalid address provided').at(
          'address',
          `an address of ${network}`,
        )
      }
      const hash = type === 'hash' ? readHash(body.hash, pattern) : null
      const direction = type === 'hash' ? readDirection(body.direction) : null
      const idempotency_key = externalId(undefined, { headers, customer })
      const { customer_id } = customer
      const asked = { customer_id, idempotency_key, type, network, address, hash, direction }
      const refusal = customer.suspended ? Suspended() : undefined
      const by = { key: cappedKey(customer), asked_by: customer, refusal }
      const { check, replayed } = await placeCheck({ ...asked, ...by })
      if (replayed) reply_headers['idempotency-replayed'] = 'true'
      return printCheck(check)
    },
  })

const check = ({ sql }: Needs): Endpoint =>
  endpoint({
    path: '/v1/aml-checks/check',
    keeps_body: true,
    auth: 'signature',
    scope: 'aml',
    summary: 'The state and the result of a check',
    body: Type.Object({
      id: Type.String({
        minLength: 1,
        maxLength: 64,
        fault: () => InvalidParams('id', 'Invalid id'),
      }),
    }),
    reply: CheckForm,
    faults: [
      refuses(InvalidParams, '`id` is missing or is not text', 'id'),
      refuses(CheckNotFound, 'The customer has no such check'),
    ],
    examples: [{ summary: 'One that is not there', body: { id: '01jq7h6bvf6p5t1amnz6y3n8c4' } }],
    async handle({ body, customer }) {
      const check = await findCheck(sql, { id: body.id, customer_id: customer.customer_id })
      if (!check) throw CheckNotFound().absent('id', 'check of yours')
      return printCheck(check)
    },
  })

const history = ({ sql }: Needs): Endpoint =>
  endpoint({
    path: '/v1/aml-checks/history',
    keeps_body: true,
    auth: 'signature',
    scope: 'aml',
    summary: "The customer's checks, newest first",
    body: Type.Object(pageFields(CHECK_STATES)),
    reply: pageOf(CheckForm, { description: 'Of all checks that pass the filter' }),
    faults: [...PAGE_REFUSALS],
    examples: [
      { summary: 'The newest ten', body: {} },
      {
        summary: 'Those that are completed',
        body: { status: 'completed', page: 1, per_page: 50 },
      },
    ],
    async handle({ body, customer }) {
      const { page = 1, per_page = 10, status } = body
      const { customer_id } = customer
      const { total, checks } = await checkHistory(sql, {
        customer_id,
        page,
        per_page,
        state: status,
      })
      return { page, per_page, total, items: checks.map(printCheck) }
    },
  })

const CounterpartyForm = Type.Union(
  [
    Type.Object({
      address: Type.String(),
      kind: word(COUNTERPARTIES, {
        description:
          'service: holds assets of others; self_hosted: sends by itself, is on no list and does ' +
          'not deal like a service; unknown',
      }),
      name: Type.Union([Type.String(), Type.Null()]),
      category: Type.Union([Type.String(), Type.Null()]),
    }),
    Type.Null(),
  ],
  {
    description:
      'The screened address as the other side of a transfer, for the Travel Rule: a hint, read ' +
      'from the evidence; null: our own engine has not looked',
  },
)

const report = ({ sql }: Pick<Needs, 'sql'>): Endpoint =>
  endpoint({
    path: '/v1/aml-check/report',
    keeps_body: true,
    auth: 'signature',
    scope: 'aml',
    summary: 'What the result of a check rests on',
    description:
      'Canonical JSON, byte for byte as it was kept, so that its SHA-256 can be worked out again.',
    body: Type.Object({
      id: Type.String({
        minLength: 1,
        maxLength: 64,
        fault: () => InvalidParams('id', 'Invalid id'),
      }),
    }),
    reply: Type.Object({
      evidence: Type.String({ description: 'JSON, as text' }),
      sha256: Type.String({ description: 'Of the text in UTF-8' }),
      supersedes: Type.Union([Type.String(), Type.Null()], {
        description: 'The check of a watched address that this one came after',
      }),
      superseded_by: Type.Union([Type.String(), Type.Null()], {
        description: 'The check that came after this one',
      }),
      levels: Type.Union(
        [Type.Object({ medium_from: Type.Number(), high_from: Type.Number() }), Type.Null()],
        { description: 'The scores from which the risk is medium, and high; null: not kept' },
      ),
      counterparty: CounterpartyForm,
    }),
    faults: [
      refuses(InvalidParams, '`id` is missing or is not text', 'id'),
      refuses(CheckNotFound, 'The customer has no such check'),
      refuses(NotFound, 'It is not completed, or its evidence is no longer available', 'evidence'),
    ],
    examples: [{ summary: 'One that is not there', body: { id: '01jq7h6bvf6p5t1amnz6y3n8c4' } }],
    async handle({ body: { id }, customer: { customer_id } }) {
      const found = await findCheck(sql, { id, customer_id })
      if (!found) throw CheckNotFound().absent('id', 'check of yours')
      const evidence = await readEvidence(sql, id)
      if (!evidence) throw NotFound('evidence', 'There is no evidence of this check')
      return {
        evidence: evidence.canonical,
        sha256: evidence.sha256,
        supersedes: found.supersedes,
        superseded_by: await supersedingCheck(sql, id),
        levels: (await readLevels(sql, evidence)) ?? null,
        counterparty: counterpartyIn(evidence.canonical) ?? null,
      }
    },
  })

export const routes = (needs: Needs): Endpoint[] => [
  types(needs),
  place(needs),
  check(needs),
  history(needs),
]

export const reportRoutes = (needs: { sql: Sql; clock: Clock }): Endpoint[] => [
  report(needs),
  ...watchRoutes(needs),
]
