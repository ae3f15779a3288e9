// Customers with what they can spend and what they did lately, in the order of their creation.

import { useSignal } from '@preact/signals'
import { useLocation } from 'preact-iso/router'
import { Export, pagesAfter } from '../../shared/files/export.tsx'
import { Title } from '../../shared/frame/title.tsx'
import { namedChoices } from '../../shared/parts/field.tsx'
import { type FilterField, FilterForm, filterOf } from '../../shared/parts/list.tsx'
import { Money } from '../../shared/parts/money.tsx'
import { Shape, State } from '../../shared/parts/state.tsx'
import type { Column } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/console.ts'
import { nameText } from '../../shared/words/name.ts'
import { count, say } from '../../shared/words/words.ts'
import { type Body, mayChange, type Row, run, trx, useRun } from '../calls/calls.ts'
import { InviteLink } from '../calls/invite.tsx'
import { Rows } from '../calls/rows.tsx'
import { NewCustomer, type NewCustomerInvite } from './new_customer.tsx'

type Customer = Row<'customers list'>

const LIMIT = 25

type Filter = Omit<Body<'customers list'>, 'after' | 'limit'>

/** All of them, page after page. */
const pagesOfCustomers = (filter: Filter) => (limit: number) =>
  pagesAfter<Customer>(limit, (last) =>
    run('customers list', { ...filter, limit, ...(last && { after: last.id }) }),
  )

const FILTERS = ['name', 'state'] as const
const STATES = ['active', 'suspended', 'closed']

const filterFields = (): FilterField[] => [
  { name: 'name', label: say('name') },
  {
    name: 'state',
    label: say('state'),
    choices: namedChoices('state', STATES),
  },
]

export default function Customers() {
  const { query } = useLocation()
  const set = filterOf(query, FILTERS)
  const filter = set as Filter
  const { after } = query
  const body = { ...filter, limit: LIMIT, ...(after && { after }) }
  const customers = useRun('customers list', body)
  const activity = useRun('customers activity', body)
  const lately = new Map((activity.answer.value ?? []).map((one) => [one.customer_id, one]))
  const is_open = useSignal(false)
  const made = useSignal<NewCustomerInvite | undefined>(undefined)
  const rows = customers.answer.value ?? []
  return (
    <>
      <Title title={say('customers')}>
        <button
          type="button"
          class="main"
          disabled={!mayChange()}
          {...(!mayChange() && { title: say('role.needed') })}
          onClick={() => {
            is_open.value = true
          }}
        >
          {say('customer.new')}
        </button>
      </Title>
      {is_open.value && (
        <NewCustomer
          onClose={() => {
            is_open.value = false
            void customers.again()
          }}
          onDone={(done) => {
            made.value = done
          }}
        />
      )}
      {made.value && (
        <>
          <InviteLink {...made.value} />
          <p>
            <a href={path.customer(made.value.id)}>{say('customer.open')}</a>
          </p>
        </>
      )}
      <FilterForm fields={filterFields()} filter={set} path={path.customers}>
        <Export name="customers" pages={pagesOfCustomers(filter)} />
      </FilterForm>
      <Rows
        question={customers}
        none={Object.keys(set).length > 0 ? say('customers.none_filtered') : say('customers.none')}
        caption={say('customers')}
        keyOf={({ id }) => id}
        columns={columns(lately)}
        hrefOf={({ id }) => path.customer(id)}
      />
      {rows.length === LIMIT && (
        <p class="pager">
          <a href={pageAfter(rows.at(-1)!.id, set)}>{say('customers.next')}</a>
        </p>
      )}
    </>
  )
}

const pageAfter = (after: string, set: Readonly<Record<string, string>>): string =>
  `${path.customers}?${new URLSearchParams({ ...set, after })}`

const money = (sun: number | null) => <Money trx={trx(sun ?? 0)} />

type Activity = Row<'customers activity'>

const columns = (lately: ReadonlyMap<string, Activity>): Column<Customer>[] => [
  {
    title: say('customer'),
    cell: ({ id, name }) => <a href={path.customer(id)}>{nameText(name)}</a>,
  },
  { title: say('state'), cell: ({ state }) => <State state={state} /> },
  {
    title: say('customer.spendable'),
    is_figure: true,
    cell: ({ spendable_sun }) => money(spendable_sun),
  },
  { title: say('customer.held'), is_figure: true, cell: ({ held_sun }) => money(held_sun) },
  {
    title: say('customer.spent'),
    is_figure: true,
    cell: ({ id }) => money(lately.get(id)?.spent_sun ?? 0),
  },
  {
    title: say('customer.orders'),
    is_figure: true,
    cell: ({ id }) => count(lately.get(id)?.orders ?? 0),
  },
  {
    title: say('customer.failed'),
    is_figure: true,
    cell: ({ id }) => <Failed failed={lately.get(id)?.failed ?? 0} />,
  },
  {
    title: say('customer.last_seen'),
    cell: ({ id }) => {
      const at = lately.get(id)?.last_seen_at ?? null
      return at === null ? say('never') : <Time at={at} relative />
    },
  },
]

const Failed = ({ failed }: Pick<Activity, 'failed'>) => (
  <span class="figure">
    {failed > 0 && <Shape mark="look" />} {count(failed)}
  </span>
)
