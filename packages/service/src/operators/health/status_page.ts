// What of the status page everybody sees.

import { Type } from 'typebox'
import { changeStatusPage, readStatusPage } from '../../health/status/incidents.ts'
import { misuse } from '../../lib/fault.ts'
import { Flag, NOTHING, oneOf, optional } from '../../platform/wire/schemas.ts'
import { change, look } from '../table/operation.ts'

const Settings = Type.Object({ pool_shown: Flag, prices_shown: Flag })
const shown = (what: string) => optional(oneOf(['shown', 'hidden'], `whether ${what}`))
const isShown = (given: string | undefined) => (given === undefined ? undefined : given === 'shown')

export const statusPageOperations = [
  look({
    path: '/operator/status-page/show',
    summary: 'what of the status page everybody sees',
    body: NOTHING,
    reply: Settings,
    handle: async ({ sql }) => ({ value: await readStatusPage(sql) }),
  }),
  change({
    path: '/operator/status-page/set',
    summary: 'show or hide parts of the status page; outages are always shown',
    body: Type.Object({
      pool: shown('everybody sees what can be delivered now'),
      prices: shown('everybody sees what things cost'),
    }),
    reply: Settings,
    async handle({ tx, body: { pool, prices } }) {
      if (pool === undefined && prices === undefined)
        throw misuse('status-page set: nothing to change is given.')
      const given = { pool_shown: isShown(pool), prices_shown: isShown(prices) }
      const { result, actions } = await changeStatusPage(tx, given)
      const note = actions.length === 0 ? 'No change.' : 'In force within 15 s.'
      return { result: { value: result, note }, actions }
    },
  }),
]
