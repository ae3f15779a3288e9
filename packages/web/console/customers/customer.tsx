// One customer: its money, its keys and users, its orders in sum; suspended, or taken back.

import { useSignal } from '@preact/signals'
import type { Question } from '../../shared/calls/question.ts'
import { Export } from '../../shared/files/export.tsx'
import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
import { Address } from '../../shared/parts/address.tsx'
import { Answer } from '../../shared/parts/answer.tsx'
import { Money } from '../../shared/parts/money.tsx'
import { State } from '../../shared/parts/state.tsx'
import { Facts, Table } from '../../shared/parts/table.tsx'
import { now_ms, Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/console.ts'
import { count, named, say } from '../../shared/words/words.ts'
import { mayChange, type Reply, run, trx, useRun } from '../calls/calls.ts'
import { Reason } from '../calls/reason.tsx'
import { Notes } from './notes.tsx'
import { PersonalData } from './personal.tsx'
import { Users } from './users.tsx'

type Key = Customer['keys'][number]
type Customer = Reply<'customers show'>

export default function OneCustomer({ params }: PageProps) {
  const id = params.id!
  const customer = useRun(
    'customers show',
    { customer: id },
    { patch: (known, { type }) => (type === 'tick' ? 'again' : known) },
  )
  const known = customer.answer.value
  return (
    <>
      <Title title={known?.name ?? say('customer')} section={say('customers')}>
        {known && <Switch customer={known} question={customer} />}
      </Title>
      <Answer question={customer} lines={12}>
        {(shown) => (
          <div class="stack">
            <Facts facts={factsOf(shown)} />
            <Lately customer={id} />
            <Notes customer={id} />
            <Statement customer={id} />
            <OrdersByState {...shown} />
            <Keys {...shown} />
            <Users customer={id} is_closed={shown.state === 'closed'} />
            <PersonalData
              customer={id}
              is_closed={shown.state === 'closed'}
              onDone={() => void customer.again()}
            />
          </div>
        )}
      </Answer>
    </>
  )
}

const DAYS = 30

/** Orders, failures and money of 30 days, and when somebody of it was there. */
function Lately({ customer }: { customer: string }) {
  const activity = useRun('customers activity', { customer, days: DAYS })
  return (
    <Answer question={activity} lines={3}>
      {([lately]) => (
        <Facts
          facts={[
            [say('customer.spent'), <Money key="spent" trx={trx(lately?.spent_sun ?? 0)} />],
            [say('customer.orders'), count(lately?.orders ?? 0)],
            [say('customer.failed'), count(lately?.failed ?? 0)],
            [
              say('customer.last_seen'),
              lately?.last_seen_at ? <Time at={lately.last_seen_at} relative /> : say('never'),
            ],
          ]}
        />
      )}
    </Answer>
  )
}

/** Every entry of the account in this month and the one before, to take along. */
const Statement = ({ customer }: { customer: string }) => (
  <section class="panel">
    <div class="panel-head">
      <h2>{say('customer.statement')}</h2>
      <span class="actions">
        <a class="button" href={`${path.orders}?customer=${encodeURIComponent(customer)}`}>
          {say('orders.all')}
        </a>
        <Export
          name={`statement-${customer}`}
          pages={async function* () {
            const now = new Date()
            const since = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 1))
            const { lines } = await run('customers statement', {
              customer,
              since: since.toISOString(),
            })
            yield lines
          }}
        />
      </span>
    </div>
    <p class="quiet">{say('customer.statement.sentence')}</p>
  </section>
)

type SwitchProps = { customer: Customer; question: Question<Customer> }

/** Suspends it, or takes that back. What is closed stays closed. */
function Switch({ customer: { id, name, state }, question }: SwitchProps) {
  const is_open = useSignal(false)
  if (state === 'closed') return null
  const is_active = state === 'active'
  const title = say(is_active ? 'customer.suspend' : 'customer.resume')
  return (
    <>
      <button
        type="button"
        disabled={!mayChange()}
        {...(!mayChange() && { title: say('role.needed') })}
        onClick={() => {
          is_open.value = true
        }}
      >
        {title}
      </button>
      {is_open.value && (
        <Reason
          title={title}
          words={is_active ? 'customers suspend' : 'customers resume'}
          body={{ customer: id }}
          is_danger={is_active}
          onDone={() => void question.again()}
          onClose={() => {
            is_open.value = false
          }}
        >
          <p>
            {say(is_active ? 'customer.suspend.sentence' : 'customer.resume.sentence', { name })}
          </p>
        </Reason>
      )}
    </>
  )
}

const factsOf = (known: Customer): [string, string | preact.VNode][] => [
  [say('state'), <State state={known.state} />],
  [say('customer.spendable'), <Money trx={trx(known.spendable_sun)} />],
  [say('customer.held'), <Money trx={trx(known.held_sun)} />],
  [say('customer.deposit_address'), <Address address={known.deposit_address} />],
  [say('customer.id'), <code>{known.id}</code>],
  [say('since'), <Time at={known.created_at} />],
  [say('customer.open_orders_limit'), count(known.open_orders_limit)],
  [say('customer.subscriptions_limit'), count(known.subscriptions_limit)],
]

const OrdersByState = ({ orders }: Customer) =>
  orders.length === 0 ? (
    <p>{say('orders.none_here')}</p>
  ) : (
    <Table
      caption={say('orders.all')}
      caption_shown
      keyOf={({ state }) => state}
      rows={orders}
      columns={[
        { title: say('state'), cell: ({ state }) => <State state={state} /> },
        { title: say('number'), is_figure: true, cell: (one) => count(one.orders) },
        {
          title: say('price'),
          is_figure: true,
          cell: ({ amount_sun }) => <Money trx={trx(amount_sun)} />,
        },
      ]}
    />
  )

const Keys = ({ keys }: Customer) =>
  keys.length === 0 ? (
    <p>{say('customer.no_keys')}</p>
  ) : (
    <Table
      caption={say('customer.keys')}
      caption_shown
      keyOf={({ id }) => id}
      rows={keys}
      columns={[
        { title: say('name'), cell: ({ name }) => name },
        { title: say('state'), cell: (key) => <State state={stateOf(key)} /> },
        {
          title: say('key.scopes'),
          cell: ({ scopes }) => scopes.map((one) => named('scope', one)).join(', '),
        },
        {
          title: say('key.daily_cap'),
          is_figure: true,
          cell: ({ daily_cap_sun }) =>
            daily_cap_sun === null ? say('none') : <Money trx={trx(daily_cap_sun)} />,
        },
        {
          title: say('last_used'),
          cell: ({ last_used_at }) =>
            last_used_at === null ? say('never') : <Time at={last_used_at} relative />,
        },
      ]}
    />
  )

function stateOf({ revoked_at, expires_at }: Key): string {
  if (revoked_at !== null) return 'revoked'
  const is_over = expires_at !== null && Date.parse(expires_at) <= now_ms.value
  return is_over ? 'expired' : 'active'
}
