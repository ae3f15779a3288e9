// All orders, the newest first, with a filter that stands in the address.

import { useSignal } from '@preact/signals'
import type { Body } from 'penstock-sdk'
import { ask } from '../../shared/calls/ask.ts'
import { may } from '../../shared/calls/session.ts'
import { useSubmission } from '../../shared/calls/submission.ts'
import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
import { Empty, FaultNote } from '../../shared/parts/answer.tsx'
import { type FilterField, FilterForm, filterOf, List } from '../../shared/parts/list.tsx'
import { path } from '../../shared/paths/portal.ts'
import { named, say } from '../../shared/words/words.ts'
import { csvOf, saveFile } from './csv.ts'
import { type ListedOrder, orderColumns, orderOf, patchOrder } from './order_facts.tsx'

const STATUSES = ['new', 'pending', 'success', 'failed']
const SERVICES = ['energy', 'bandwidth', 'resource_bundle', 'activate_address']
const FILTERS = ['status', 'service', 'address', 'external_id_prefix', 'since', 'until'] as const

function filterFields(): FilterField[] {
  const choices = (family: 'state' | 'service', names: string[]) =>
    names.map((value) => ({ value, text: named(family, value) }))
  return [
    { name: 'status', label: say('order.state'), choices: choices('state', STATUSES) },
    { name: 'service', label: say('order.service'), choices: choices('service', SERVICES) },
    { name: 'address', label: say('order.address') },
    { name: 'external_id_prefix', label: say('filter.external_id') },
    { name: 'since', label: say('filter.since'), type: 'date' },
    { name: 'until', label: say('filter.until'), type: 'date' },
  ]
}

export default function Orders({ query }: PageProps) {
  const filter = filterOf(query, FILTERS)
  const is_filtered = Object.keys(filter).length > 0
  return (
    <>
      <Title title={say('orders')}>
        {may('buy') && (
          <a class="button main" href={path.buy}>
            {say('buy')}
          </a>
        )}
      </Title>
      <FilterForm fields={filterFields()} filter={filter} path={path.orders} />
      <List<ListedOrder>
        path="/v1/transactions/list"
        body={filter}
        caption={say('orders')}
        columns={orderColumns()}
        keyOf={({ id }) => id}
        patch={patchOrder}
        isNew={(event) => event.type === 'order.created' && orderOf(event) !== undefined}
        empty={
          <Empty>
            <p>{is_filtered ? say('orders.none_filtered') : say('orders.none')}</p>
            {is_filtered ? (
              <a href={path.orders}>{say('orders.all')}</a>
            ) : (
              <a href={path.buy}>{say('buy')}</a>
            )}
          </Empty>
        }
      />
      <Export filter={filter} />
    </>
  )
}

const PAGE = 100
const LINES_MAX = 10_000

/** All rows of the filter, page by page, as a file. */
function Export({ filter }: { filter: Record<string, string> }) {
  const submission = useSubmission()
  const read = useSignal(0)
  const download = () =>
    submission.run(async () => {
      const rows: ListedOrder[] = []
      let before: string | null = null
      do {
        const at: Record<string, string> = before === null ? {} : { before }
        const body = { ...filter, ...at, limit: PAGE } as Body<'/v1/transactions/list'>
        const page = await ask('/v1/transactions/list', body)
        rows.push(...page.items)
        before = page.next
        read.value = rows.length
      } while (before !== null && rows.length < LINES_MAX)
      saveFile('orders.csv', 'text/csv', csvOf(COLUMNS, rows.map(cells)))
    })
  return (
    <div class="stack">
      {submission.fault.value && <FaultNote fault={submission.fault.value} />}
      <p class="actions">
        <button type="button" disabled={submission.is_busy.value} onClick={download}>
          {say('download.csv')}
        </button>
        {submission.is_busy.value && (
          <span role="status">{say('download.lines', { n: read.value })}</span>
        )}
      </p>
    </div>
  )
}

const COLUMNS = [
  'id',
  'external_id',
  'created_at',
  'service',
  'address',
  'energy',
  'bandwidth',
  'status',
  'amount',
  'delivered_at',
  'ended_at',
  'hash',
]

const cells = (order: ListedOrder) => [
  order.id,
  order.external_id,
  order.created_at,
  order.service,
  order.params.address,
  order.params.amounts?.energy,
  order.params.amounts?.bandwidth,
  order.status,
  order.amount,
  order.delivered_at,
  order.ended_at,
  order.hash,
]
