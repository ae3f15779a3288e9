// What several pages say of orders alike.

import type { Result } from 'penstock-sdk'
import type { LiveEvent } from '../../shared/calls/live.ts'
import { Address, OwnId } from '../../shared/parts/address.tsx'
import { Money } from '../../shared/parts/money.tsx'
import { State } from '../../shared/parts/state.tsx'
import type { Column } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/portal.ts'
import { spanText } from '../../shared/words/span.ts'
import { count, named, say } from '../../shared/words/words.ts'

export type ListedOrder = Result<'/v1/transactions/list'>['items'][number]

/** `65 000 energy`, for each resource that was bought. */
export function amountsText(amounts: { energy?: number; bandwidth?: number } | undefined): string {
  return Object.entries(amounts ?? {})
    .filter(([, amount]) => amount > 0)
    .map(([resource, amount]) => `${count(amount)} ${named('resource', resource)}`)
    .join(' + ')
}

export const orderColumns = (): Column<ListedOrder>[] => [
  {
    title: say('order.created'),
    cell: ({ id, created_at }) => (
      <a href={path.order(id)}>
        <Time at={created_at} />
      </a>
    ),
  },
  { title: say('order.state'), cell: ({ status }) => <State state={status} /> },
  {
    title: say('order.bought'),
    cell: ({ service, params }) => amountsText(params.amounts) || named('service', service),
  },
  { title: say('order.price'), is_figure: true, cell: ({ amount }) => <Money trx={amount} /> },
  {
    title: say('order.address'),
    is_minor: true,
    cell: ({ params }) => <Address address={params.address} />,
  },
  {
    title: say('order.took'),
    is_figure: true,
    is_minor: true,
    cell: ({ delivered_ms: ms }) =>
      // After an event it is the difference of whole seconds.
      ms === null ? '' : ms === 0 ? `< ${spanText(1_000)}` : spanText(ms),
  },
  {
    title: say('order.external_id'),
    is_minor: true,
    cell: ({ external_id }) => external_id !== null && <OwnId id={external_id} />,
  },
]

type OrderData = Partial<ListedOrder> & { id: string; status: string }

/** The order that an event is about; undefined for another one. */
export function orderOf({ type, data }: LiveEvent): OrderData | undefined {
  if (!type.startsWith('order.') || data === null || typeof data !== 'object') return undefined
  const order = data as Partial<OrderData>
  return order.id !== undefined && order.status !== undefined ? (order as OrderData) : undefined
}

/** A row after an event: when it was delivered is asked for where it matters. */
export function patchOrder(row: ListedOrder, event: LiveEvent): ListedOrder {
  const order = orderOf(event)
  if (order?.id !== row.id || ('test' in event && event.test)) return row
  const { status } = order
  const timestamp = 'timestamp' in event ? event.timestamp : null
  const next = { ...row, status, ...(order.hash && { hash: order.hash }) }
  if (status !== 'success' || timestamp === null || row.delivered_at !== null) return next
  const span_ms = new Date(timestamp).getTime() - new Date(row.created_at).getTime()
  return { ...next, delivered_at: timestamp, delivered_ms: span_ms < 0 ? null : span_ms }
}
