// Who a caller is, and what its customer has set for itself.

import { type Static, Type } from 'typebox'
import { recordCustomerAction } from '../../ledger/accounts/customer_actions.ts'
import type { Clock } from '../../lib/clock.ts'
import { money } from '../../lib/json.ts'
import type { Sql } from '../../platform/database/sql.ts'
import {
  type Endpoint,
  endpoint,
  InvalidParams,
  invalid,
  lacksScope,
  Money,
  mayDo,
  refuses,
  unchecked,
} from '../../platform/wire/endpoint.ts'
import { isAbsent, readMoney } from '../../platform/wire/reading.ts'
import { changeSettings, type Settings, settingsOf } from './settings.ts'
import { type ServiceFacts, whoami } from './whoami.ts'

export type Needs = { sql: Sql; clock: Clock; service: ServiceFacts }

const SettingsForm = Type.Object({
  balance_low: Type.Union([Money(), Type.Null()], {
    description: 'TRX: `balance.low` is told when less can be spent; null: never',
  }),
  ending_minutes: Type.Union([Type.Integer(), Type.Null()], {
    description: 'How long before its hour is over `order.ending` is told; null: never',
  }),
  billing: Type.Array(Type.String(), { description: 'Lines of your own on your invoices' }),
})

const printSettings = ({
  balance_low_sun,
  ending_minutes,
  billing,
}: Settings): Static<typeof SettingsForm> => ({
  balance_low: balance_low_sun === null ? null : money(balance_low_sun),
  ending_minutes,
  billing,
})

const settings = ({ sql }: Needs): Endpoint =>
  endpoint({
    path: '/v1/settings',
    auth: 'signature',
    scope: 'read',
    summary: 'What you have set for yourself',
    body: Type.Object({}),
    reply: SettingsForm,
    faults: [],
    async handle({ customer }) {
      return printSettings(await settingsOf(sql, customer.customer_id))
    },
  })

const ChangeBody = Type.Object({
  ending_minutes: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 55,
      description: '1 to 55; 0: never',
      ...invalid('ending_minutes'),
    }),
  ),
  billing: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 100, ...invalid('billing') }), {
      maxItems: 8,
      description: 'At most 8 lines of 100 characters; `[]`: none',
      ...invalid('billing'),
    }),
  ),
  balance_low: Type.Optional(unchecked(Money({ description: 'TRX; 0: never' }))),
})

const changeRoute = ({ sql, clock }: Needs): Endpoint =>
  endpoint({
    path: '/v1/settings/change',
    auth: 'signature',
    scope: ['money', 'webhooks'],
    mutating: true,
    second_signature: true,
    summary: 'Set what is given, and leave the rest as it is',
    description:
      '`balance_low` and `billing` need the scope `money`, `ending_minutes` needs `webhooks`.',
    body: ChangeBody,
    reply: SettingsForm,
    faults: [
      refuses(InvalidParams, '`ending_minutes` is out of its range', 'ending_minutes'),
      refuses(InvalidParams, '`billing` is no list of such lines', 'billing'),
      refuses(InvalidParams, '`balance_low` is no amount of TRX', 'balance_low'),
    ],
    examples: [{ summary: 'Tell me below 500 TRX', body: { balance_low: 500 } }],
    async handle({ body, customer }) {
      const { ending_minutes, billing, balance_low } = body
      const low_sun = isAbsent(balance_low) ? undefined : readMoney(balance_low, 'balance_low')
      if ((low_sun !== undefined || billing !== undefined) && !mayDo(customer, ['money']))
        throw lacksScope(['money'], customer)
      if (ending_minutes !== undefined && !mayDo(customer, ['webhooks']))
        throw lacksScope(['webhooks'], customer)
      const wanted = {
        at: clock.now(),
        ...(low_sun !== undefined && { balance_low_sun: low_sun === 0n ? null : low_sun }),
        ...(ending_minutes !== undefined && { ending_minutes: ending_minutes || null }),
        ...(billing !== undefined && { billing }),
      }
      return sql.begin(async (tx) => {
        const changed = await changeSettings(tx, customer.customer_id, wanted)
        const [before, after] = [printSettings(changed.before), printSettings(changed.after)]
        const action = 'settings/change'
        const record = { actor: customer, action, subject: 'settings', before, after }
        await recordCustomerAction(tx, wanted.at, record)
        return after
      })
    },
  })

export const routes = (needs: Needs): Endpoint[] => [
  whoami(needs),
  settings(needs),
  changeRoute(needs),
]
