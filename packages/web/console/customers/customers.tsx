// Customers with what they can spend, in the order of their creation.

import { useSignal } from '@preact/signals'
import { useLocation } from 'preact-iso/router'
import { Title } from '../../shared/frame/title.tsx'
import { Address } from '../../shared/parts/address.tsx'
import { Money } from '../../shared/parts/money.tsx'
import { State } from '../../shared/parts/state.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/console.ts'
import { nameText } from '../../shared/words/name.ts'
import { say } from '../../shared/words/words.ts'
import { mayChange, type Row, trx, useRun } from '../calls/calls.ts'
import { InviteLink } from '../calls/invite.tsx'
import { Rows } from '../calls/rows.tsx'
import { NewCustomer, type NewCustomerInvite } from './new_customer.tsx'

type Customer = Row<'customers list'>

const LIMIT = 25

export default function Customers() {
  const { after } = useLocation().query
  const customers = useRun('customers list', { limit: LIMIT, ...(after && { after }) })
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
      <Rows
        question={customers}
        none={say('customers.none')}
        caption={say('customers')}
        keyOf={({ id }) => id}
        columns={COLUMNS()}
      />
      {rows.length === LIMIT && (
        <p class="pager">
          <a href={`${path.customers}?after=${rows.at(-1)!.id}`}>{say('customers.next')}</a>
        </p>
      )}
    </>
  )
}

const money = (sun: number | null) => <Money trx={trx(sun ?? 0)} />

const COLUMNS = () => [
  {
    title: say('customer'),
    cell: ({ id, name }: Customer) => <a href={path.customer(id)}>{nameText(name)}</a>,
  },
  { title: say('state'), cell: ({ state }: Customer) => <State state={state} /> },
  {
    title: say('customer.spendable'),
    is_figure: true,
    cell: ({ spendable_sun }: Customer) => money(spendable_sun),
  },
  {
    title: say('customer.held'),
    is_figure: true,
    cell: ({ held_sun }: Customer) => money(held_sun),
  },
  {
    title: say('customer.deposit_address'),
    cell: ({ deposit_address }: Customer) => <Address address={deposit_address} />,
  },
  { title: say('since'), cell: ({ created_at }: Customer) => <Time at={created_at} /> },
]
