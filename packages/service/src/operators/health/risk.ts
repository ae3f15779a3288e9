// What each thief can take at most, in the amounts of this installation.

import { type Risk, risks } from '../../health/risk/risk.ts'
import { ListOf, NOTHING, OrNull, Sun, Text } from '../../platform/wire/schemas.ts'
import { look } from '../table/operation.ts'

const WHO: Readonly<Record<Risk['thief'], string>> = {
  worker_process: "who has a worker's process or its user",
  refund_key: 'who has the key of the refund wallet',
  activation_key: 'who has the key of the activation wallet',
  pool_key: 'who has the key of a pool wallet',
  worker_role: 'who has the password of penstock_worker, and no key',
  api_role: 'who has the password of penstock_api',
  operator_session: "who has an operator's session",
  api_key: "who has a customer's API key",
}
const WHAT: Readonly<Record<Risk['takes'], string>> = {
  refund_float: 'pays out what lies in the refund wallet',
  activation_float: 'burns what lies in the activation wallet for activations',
  pool_hours: 'has energy and bandwidth of the pool for nothing: what that would sell for',
  balances: 'spends what customers have, on energy for himself',
}
const BY: Readonly<Record<Risk['bound'], string>> = {
  float: 'what lies there',
  stake: "the pool's stake, until the owner takes the permission away",
  limits: 'the limits of signing, and the check of the books',
  balances: 'what customers have; none of it leaves as TRX',
  second_operator: 'from there on a second operator must approve',
  nothing: 'nothing: see approvals set; none of it leaves as TRX',
  daily_cap: 'the daily cap of the key',
}

export const riskOperations = [
  look({
    path: '/operator/risk',
    summary: 'what each thief can take at most, by the floats, limits and prices in force',
    description:
      'Worked out from what the workers say that they sign with, what lies in the wallets by the ' +
      'node, the prices in force and what customers have. Without `most_sun` nothing ends it. ' +
      'docs/guarantees/threats.md says what holds each of them.',
    body: NOTHING,
    reply: ListOf({
      thief: Text,
      takes: Text,
      most_sun: OrNull(Sun),
      within: Text,
      bound: Text,
      says: Text,
    }),
    cli: { node: 'plain' },
    async handle({ sql, clock, node }) {
      const found = await risks(sql, node(), clock.now())
      const value = found.map((one) => ({
        ...one,
        says: `${WHO[one.thief]} ${WHAT[one.takes]}; ended by ${BY[one.bound]}`,
      }))
      const none = 'No worker that runs has said what it signs with, and how much.'
      return { value, note: value.length === 0 ? none : undefined }
    },
  }),
]
