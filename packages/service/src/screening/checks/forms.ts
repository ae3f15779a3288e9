// What a screening check is, the form in which it goes over the wire, and what is told of it.

import type { Address } from 'penstock-tron/address.ts'
import { USDT } from 'penstock-tron/tokens.ts'
import { type Static, type TSchema, Type } from 'typebox'
import { type EventKind, eventKind } from '../../events/log/kinds.ts'
import { wireTime } from '../../lib/clock.ts'
import { columnsOf } from '../../platform/database/columns.ts'
import type { Tx } from '../../platform/database/sql.ts'
import { EXAMPLE } from '../../platform/wire/examples.ts'
import { word } from '../../platform/wire/schemas.ts'
import type { Factor } from '../engine/scoring.ts'

export type CheckType = 'address' | 'hash'
export type CheckState = 'pending' | 'processing' | 'completed' | 'failed'

export const CHECK_STATES: readonly CheckState[] = ['pending', 'processing', 'completed', 'failed']

export type Check = {
  id: string
  customer_id: string
  idempotency_key: string | null
  type: CheckType
  network: string
  address: Address
  hash: string | null
  direction: 'deposit' | 'withdrawal' | null
  state: CheckState
  price_sun: bigint
  /** The API key, when it may only spend so much in a day. */
  key_id: string | null
  solid_number: bigint
  due_at: Date
  tries: number
  created_at: Date
  ended_at: Date | null
  risk_score: string | null
  risk_level: 'low' | 'medium' | 'high' | null
  blacklist: boolean
  risk_factors: Factor[]
  sent_factors: Factor[]
  error: string | null
  provider: string | null
  policy: number | null
  label_set: number | null
  generation: number | null
  index_number: bigint | null
  evidence_sha256: string | null
  supersedes: string | null
}

export const CHECK_COLUMNS = columnsOf<Check>()([
  'id',
  'customer_id',
  'idempotency_key',
  'type',
  'network',
  'address',
  'hash',
  'direction',
  'state',
  'price_sun',
  'key_id',
  'solid_number',
  'due_at',
  'tries',
  'created_at',
  'ended_at',
  'risk_score',
  'risk_level',
  'blacklist',
  'risk_factors',
  'sent_factors',
  'error',
  'provider',
  'policy',
  'label_set',
  'generation',
  'index_number',
  'evidence_sha256',
  'supersedes',
])

/** Of risk. */
export const LEVELS = ['low', 'medium', 'high'] as const

export const FactorForm = Type.Object({
  name: Type.String({ description: 'Category' }),
  label: Type.String(),
  group: word(LEVELS),
  score: Type.Number({ description: 'Share of the money, 0 to 1; the shares sum to 1' }),
})

export const CheckForm = Type.Object({
  id: Type.String(),
  type: word(['address', 'hash']),
  address: Type.String(),
  hash: Type.Optional(Type.String({ description: 'Of hash checks' })),
  direction: Type.Optional(
    Type.Union([word(['deposit', 'withdrawal']), Type.Null()], {
      description: 'Of hash checks; null if not given',
    }),
  ),
  network: Type.String(),
  status: word(CHECK_STATES),
  risk_score: Type.Union([Type.String(), Type.Null()], {
    description: '0.0 to 100.0; null until completed',
  }),
  risk_level: Type.Union([word(LEVELS), Type.Null()], {
    description: 'Null until completed',
  }),
  blacklist: Type.Boolean({
    description: 'The address itself is barred by an authority, its issuer, or you',
  }),
  risk_factors: Type.Array(FactorForm, { description: 'The largest first' }),
  sent_factors: Type.Array(FactorForm, {
    description:
      'Of what the address sent, by where that has ended: as of the last night, under a policy ' +
      'that looks at it, for an address itself; else none',
  }),
  checked_at: Type.String({ description: 'When the check was created' }),
})

/** The database keeps an object's keys in an order of its own. */
const printFactor = ({ name, label, group, score }: Factor) => ({ name, label, group, score })

/** A check in the wire's form. */
export function printCheck(check: Check): Static<typeof CheckForm> {
  const {
    id,
    type,
    address,
    hash,
    direction,
    network,
    state,
    risk_score,
    risk_level,
    blacklist,
    risk_factors,
    sent_factors,
  } = check
  return {
    id,
    type,
    address,
    ...(hash !== null && { hash, direction }),
    network,
    status: state,
    risk_score,
    risk_level,
    blacklist,
    risk_factors: risk_factors.map(printFactor),
    sent_factors: sent_factors.map(printFactor),
    checked_at: wireTime(check.created_at),
  }
}

const SAMPLE: Static<typeof CheckForm> = {
  id: '01m7xps0ca8ksnnfg71x89vdp6',
  type: 'address',
  address: EXAMPLE.address,
  network: 'TRX',
  status: 'completed',
  risk_score: '12.5',
  risk_level: 'low',
  blacklist: false,
  risk_factors: [{ name: 'exchange', label: 'Exchange', group: 'low', score: 1 }],
  sent_factors: [],
  checked_at: '2026-11-21T00:05:57Z',
}

const WatchedCheck = Type.Object({
  ...CheckForm.properties,
  level_before: Type.String({ description: 'Of the answer that this one supersedes' }),
})

const nullable = <T extends TSchema>(form: T, description?: string) =>
  Type.Union([form, Type.Null()], description === undefined ? {} : { description })

const AlertTransfer = Type.Object({
  tx_id: Type.String(),
  block_number: Type.Integer(),
  asset: Type.String(),
  amount: Type.String({ description: 'In the smallest unit' }),
  usd: Type.String(),
  counterparty: Type.String(),
  category: nullable(Type.String(), 'Of the receiver, for `sent_to`'),
})

export const WatchAlertForm = Type.Object({
  address: Type.String(),
  reference: nullable(Type.String(), 'What you call it'),
  rule: word(['any_incoming_usd', 'severe_share', 'severe_usd', 'sent_to']),
  threshold: nullable(Type.String(), 'Dollars, or a share of 1; null for `sent_to`'),
  transfer: nullable(
    AlertTransfer,
    'The largest of its block that the rule holds for; null for shares',
  ),
  transfers: Type.Integer({ description: 'So many of that block it holds for' }),
  before: nullable(Type.String(), 'Of the answer before'),
  after: nullable(Type.String()),
  check_id: nullable(Type.String(), 'The newest check'),
})

const FreezeForm = Type.Object({
  address: Type.String(),
  token: Type.String({ description: 'The contract of the token' }),
  block_number: Type.Integer(),
})
const FREEZE = { address: EXAMPLE.address, token: USDT, block_number: 78_123_456 }

export const checkKinds: readonly EventKind[] = [
  eventKind('aml_watch.changed', {
    data: WatchedCheck,
    when: 'an address that you watch was screened again, and its level is another',
    scope: 'aml',
    sample: { ...SAMPLE, risk_score: '82.0', risk_level: 'high', level_before: 'low' },
  }),
  eventKind('aml_watch.alert', {
    data: WatchAlertForm,
    when: 'a rule that you gave for an address that you watch holds',
    scope: 'aml',
    sample: {
      address: EXAMPLE.address,
      reference: 'supplier 17',
      rule: 'any_incoming_usd',
      threshold: '10000',
      transfer: {
        tx_id: 'a'.repeat(64),
        block_number: 78_123_456,
        asset: 'USDT',
        amount: '15000000000',
        usd: '15000.00',
        counterparty: EXAMPLE.address,
        category: null,
      },
      transfers: 1,
      before: null,
      after: null,
      check_id: SAMPLE.id,
    },
  }),
  eventKind('freeze.executed', {
    data: FreezeForm,
    when: 'the issuer of a token has frozen an address that you watch',
    scope: 'aml',
    sample: FREEZE,
  }),
  eventKind('freeze.lifted', {
    data: FreezeForm,
    when: 'the issuer of a token has lifted the freeze of an address that you watch',
    scope: 'aml',
    sample: FREEZE,
  }),
  eventKind('aml_check.completed', {
    data: CheckForm,
    when: 'it is answered and charged',
    scope: 'aml',
    sample: SAMPLE,
  }),
  eventKind('aml_check.failed', {
    data: CheckForm,
    when: 'it could not be answered; nothing is charged',
    scope: 'aml',
    sample: {
      ...SAMPLE,
      status: 'failed',
      risk_score: null,
      risk_level: null,
      risk_factors: [],
      sent_factors: [],
    },
  }),
]

/** Checks as the endpoint of one answers, by id. */
export async function checkForms(
  tx: Tx,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Static<typeof CheckForm>>> {
  const rows = await tx<Check>`select ${CHECK_COLUMNS} from aml_check where id = any(${ids})`
  return new Map(rows.map((row) => [row.id, printCheck(row)]))
}
