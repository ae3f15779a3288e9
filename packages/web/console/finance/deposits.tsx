// All that arrived: deposits of customers and direct recharges, the newest first, by state.

import { Export } from '../../shared/files/export.tsx'
import { Address, Hash, shortText } from '../../shared/parts/address.tsx'
import { namedChoices } from '../../shared/parts/field.tsx'
import { type FilterField, FilterForm, filterOf } from '../../shared/parts/list.tsx'
import { State } from '../../shared/parts/state.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/console.ts'
import { say } from '../../shared/words/words.ts'
import { type Body, type Row, run, useRun } from '../calls/calls.ts'
import { Rows } from '../calls/rows.tsx'
import { HeldAmount } from './held_decision.tsx'

type Deposit = Row<'deposits list'>

const LIMIT = 50
const EXPORTED_MAX = 1_000
const FILTERS = ['state', 'customer', 'from', 'since', 'until'] as const
const STATES = [
  ...['seen', 'credited', 'received', 'delivering', 'delivered', 'returning', 'refunding'],
  ...['refunded', 'held', 'ignored', 'resolved', 'gone'],
]

const filterFields = (): FilterField[] => [
  {
    name: 'state',
    label: say('state'),
    choices: namedChoices('state', STATES),
  },
  { name: 'customer', label: say('filter.customer') },
  { name: 'from', label: say('sender') },
  { name: 'since', label: say('filter.since'), type: 'date' },
  { name: 'until', label: say('filter.until'), type: 'date' },
]

export function Deposits({ query }: { query: Readonly<Record<string, string>> }) {
  const filter = filterOf(query, FILTERS) as Body<'deposits list'>
  const set = filterOf(query, FILTERS)
  const deposits = useRun('deposits list', { ...filter, limit: LIMIT })
  return (
    <section class="panel">
      <h2>{say('deposits.all')}</h2>
      <FilterForm fields={filterFields()} filter={set} path={path.money}>
        <Export
          name="deposits"
          pages={async function* () {
            yield await run('deposits list', { ...filter, limit: EXPORTED_MAX })
          }}
        />
      </FilterForm>
      <Rows
        question={deposits}
        none={Object.keys(set).length > 0 ? say('deposits.none_filtered') : say('deposits.none')}
        caption={say('deposits.all')}
        keyOf={({ tx_id, position }) => `${tx_id}:${position}`}
        columns={COLUMNS()}
      />
    </section>
  )
}

const COLUMNS = () => [
  { title: say('time'), cell: ({ block_time }: Deposit) => <Time at={block_time} relative /> },
  { title: say('state'), cell: ({ state }: Deposit) => <State state={state} /> },
  { title: say('amount'), is_figure: true, cell: (one: Deposit) => <HeldAmount {...one} /> },
  {
    title: say('customer'),
    cell: ({ customer_id }: Deposit) =>
      customer_id === null ? (
        say('held.recharge')
      ) : (
        <a href={path.customer(customer_id)}>
          <code>{shortText(customer_id)}</code>
        </a>
      ),
  },
  { title: say('sender'), cell: (one: Deposit) => <Address address={one.from_address} /> },
  { title: say('hash'), cell: ({ tx_id }: Deposit) => <Hash tx_id={tx_id} /> },
]
