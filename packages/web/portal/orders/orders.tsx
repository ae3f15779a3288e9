// All orders, the newest first, with a filter that stands in the address.

import { may } from '../../shared/calls/session.ts'
import { Export, pagesOfList } from '../../shared/files/export.tsx'
import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
import { Empty } from '../../shared/parts/answer.tsx'
import { namedChoices } from '../../shared/parts/field.tsx'
import { type FilterField, FilterForm, filterOf, List } from '../../shared/parts/list.tsx'
import { path } from '../../shared/paths/portal.ts'
import { say } from '../../shared/words/words.ts'
import { type ListedOrder, orderColumns, orderOf, patchOrder } from './order_facts.tsx'

const STATUSES = ['new', 'pending', 'success', 'failed']
const SERVICES = ['energy', 'bandwidth', 'resource_bundle', 'activate_address']
const FILTERS = ['status', 'service', 'address', 'external_id_prefix', 'since', 'until'] as const

function filterFields(): FilterField[] {
  return [
    { name: 'status', label: say('order.state'), choices: namedChoices('state', STATUSES) },
    { name: 'address', label: say('order.address') },
    { name: 'external_id_prefix', label: say('filter.external_id') },
    { name: 'service', label: say('order.service'), choices: namedChoices('service', SERVICES) },
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
      <FilterForm fields={filterFields()} filter={filter} path={path.orders}>
        <Export
          name="orders"
          pages={(limit) => pagesOfList<ListedOrder>('/v1/transactions/list', filter, limit)}
          sheetOf={(rows) => ({ columns: COLUMNS, cells: rows.map(cells) })}
        />
      </FilterForm>
      <List<ListedOrder>
        path="/v1/transactions/list"
        body={filter}
        caption={say('orders')}
        columns={orderColumns()}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => path.order(id)}
        is_brief
        patch={patchOrder}
        isNew={(event) => event.type === 'order.created' && orderOf(event) !== undefined}
        empty={
          <Empty>
            <p>{is_filtered ? say('orders.none_filtered') : say('orders.none')}</p>
            {is_filtered ? (
              <a href={path.orders}>{say('orders.all')}</a>
            ) : (
              <a class="button main" href={path.buy}>
                {say('buy')}
              </a>
            )}
          </Empty>
        }
      />
    </>
  )
}

/** Of the file. */
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
