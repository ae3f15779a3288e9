// Orders of all customers, newest first.

import { useLocation } from 'preact-iso/router'
import { Export, pagesAfter } from '../../shared/files/export.tsx'
import { Title } from '../../shared/frame/title.tsx'
import { Address, shortText } from '../../shared/parts/address.tsx'
import { Answer, Empty } from '../../shared/parts/answer.tsx'
import { namedChoices } from '../../shared/parts/field.tsx'
import { type FilterField, FilterForm, filterOf } from '../../shared/parts/list.tsx'
import { Money } from '../../shared/parts/money.tsx'
import { State } from '../../shared/parts/state.tsx'
import { Table } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/console.ts'
import { count, named, say } from '../../shared/words/words.ts'
import { type Body, type Row, run, trx, useRun } from '../calls/calls.ts'

type Order = Row<'orders list'>

const LIMIT = 25
const STATES = ['new', 'pending', 'success', 'failed']
const SERVICES = ['energy', 'bandwidth', 'resource_bundle', 'activate_address']
const FILTERS = ['state', 'service', 'customer', 'address', 'since', 'until'] as const

function filterFields(): FilterField[] {
  return [
    { name: 'state', label: say('state'), choices: namedChoices('state', STATES) },
    { name: 'service', label: say('service'), choices: namedChoices('service', SERVICES) },
    { name: 'customer', label: say('filter.customer') },
    { name: 'address', label: say('receiver') },
    { name: 'since', label: say('filter.since'), type: 'date' },
    { name: 'until', label: say('filter.until'), type: 'date' },
  ]
}

export default function Orders() {
  const { query } = useLocation()
  const open = query.open === 'true'
  const filter = filterOf(query, FILTERS)
  const wanted = {
    ...filter,
    limit: LIMIT,
    ...(open && { open }),
    ...(query.before && { before: query.before }),
  }
  const orders = useRun('orders list', wanted, {
    patch: (known, { type }) => (type === 'tick' ? 'again' : known),
  })
  const same = new URLSearchParams({ ...filter, ...(open && { open: 'true' }) })
  return (
    <>
      <Title title={say('orders.all')} />
      <FilterForm fields={filterFields()} filter={filter} path={path.orders}>
        <div class="actions">
          <a class="button" href={open ? path.orders : `${path.orders}?open=true`}>
            {say(open ? 'orders.show_all' : 'orders.show_open')}
          </a>
          <Export name="orders" pages={(limit) => pagesOfOrders(wanted, limit)} />
        </div>
      </FilterForm>
      <Answer question={orders} lines={12}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty>
              <p>{say(same.size > 0 ? 'orders.none_filtered' : 'orders.none_here')}</p>
            </Empty>
          ) : (
            <>
              <Table
                caption={say('orders.all')}
                keyOf={({ id }) => id}
                hrefOf={({ id }) => path.order(id)}
                rows={rows}
                columns={COLUMNS()}
              />
              {rows.length === LIMIT && (
                <p class="pager">
                  <a href={`${path.orders}?before=${rows.at(-1)!.id}&${same}`}>
                    {say('list.older')}
                  </a>
                </p>
              )}
            </>
          )
        }
      </Answer>
    </>
  )
}

/** Those of the filter, page after page. */
const pagesOfOrders = ({ before: _, ...wanted }: Body<'orders list'>, limit: number) =>
  pagesAfter<Order>(limit, (last) =>
    run('orders list', { ...wanted, ...(last && { before: last.id }), limit }),
  )

const COLUMNS = () => [
  { title: say('time'), cell: ({ created_at }: Order) => <Time at={created_at} /> },
  {
    title: say('order.one'),
    cell: ({ id, external_id }: Order) => (
      <a href={path.order(id)}>{external_id ?? shortText(id)}</a>
    ),
  },
  {
    title: say('customer'),
    cell: ({ customer_id }: Order) => (
      <a href={path.customer(customer_id)}>
        <code>{shortText(customer_id)}</code>
      </a>
    ),
  },
  { title: say('service'), cell: ({ service }: Order) => named('service', service) },
  { title: say('receiver'), cell: ({ address }: Order) => <Address address={address} /> },
  {
    title: say('amount'),
    is_figure: true,
    cell: ({ energy, bandwidth }: Order) => count(energy + bandwidth),
  },
  { title: say('state'), cell: ({ state }: Order) => <State state={state} /> },
  {
    title: say('price'),
    is_figure: true,
    cell: ({ amount_sun }: Order) => <Money trx={trx(amount_sun)} />,
  },
]
