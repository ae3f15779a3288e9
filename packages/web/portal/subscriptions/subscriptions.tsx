// Addresses that are kept supplied: the plans with Start, and the subscriptions with Stop.

import { useSignal } from '@preact/signals'
import type { Body, Result } from 'penstock-sdk'
import { useQuestion } from '../../shared/calls/question.ts'
import { may } from '../../shared/calls/session.ts'
import { Export, pagesByNumber } from '../../shared/files/export.tsx'
import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
import { Address } from '../../shared/parts/address.tsx'
import { Answer, Empty } from '../../shared/parts/answer.tsx'
import { namedChoices } from '../../shared/parts/field.tsx'
import {
  type FilterField,
  FilterForm,
  filterOf,
  NumberedPages,
  pageOf,
} from '../../shared/parts/list.tsx'
import { Money } from '../../shared/parts/money.tsx'
import { type Column, Table } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/portal.ts'
import { count, named, say } from '../../shared/words/words.ts'
import { isRunning, limitText, Stop, SubscriptionState } from './facts.tsx'
import { type Plan, StartSubscription } from './start.tsx'

type Subscription = Result<'/v1/subscriptions/history'>['items'][number]
const PER_PAGE = 25
const HISTORY = '/v1/subscriptions/history'
const STATES = ['new', 'pending', 'active', 'stopped', 'expired', 'error'] as const

const filterFields = (): FilterField[] => [
  {
    name: 'status',
    label: say('order.state'),
    choices: namedChoices('state', STATES),
  },
]

export default function Subscriptions({ query }: PageProps) {
  const page = pageOf(query)
  const plans = useQuestion('/v1/subscriptions', {})
  const filter = filterOf(query, ['status'])
  const list = useQuestion(
    HISTORY,
    { ...(filter as Body<typeof HISTORY>), page, per_page: PER_PAGE },
    { patch: (known, { type }) => (type.startsWith('subscription.') ? 'again' : known) },
  )
  /** What was answered to Stop is shown before it is asked again. */
  const showStopped = (id: string) => {
    const known = list.answer.value!
    const items = known.items.map((one) => (one.id === id ? { ...one, status: 'stopped' } : one))
    list.answer.value = { ...known, items }
    void list.again()
  }
  return (
    <>
      <Title title={say('subscriptions')} />
      <FilterForm fields={filterFields()} filter={filter} path={path.subscriptions}>
        <Export name="subscriptions" pages={() => pagesByNumber<Subscription>(HISTORY, filter)} />
      </FilterForm>
      <div class="stack">
        <Answer question={list} lines={8}>
          {({ items, total }) => (
            <div>
              {items.length === 0 ? (
                <Empty>
                  <p>{say(filter.status ? 'list.none_filtered' : 'subscriptions.none')}</p>
                </Empty>
              ) : (
                <Table
                  caption={say('subscriptions')}
                  columns={columns(showStopped)}
                  rows={items}
                  keyOf={({ id }) => id}
                />
              )}
              <NumberedPages page={page} has_older={page * PER_PAGE < total} />
            </div>
          )}
        </Answer>
        <section class="panel">
          <h2>{say('subscriptions.plans')}</h2>
          <Answer question={plans}>
            {(plans) => <Plans plans={plans} onStarted={() => void list.again()} />}
          </Answer>
        </section>
      </div>
    </>
  )
}

const columns = (showStopped: (id: string) => void): Column<Subscription>[] => [
  {
    title: say('order.created'),
    cell: ({ id, created_at }) => (
      <a href={path.subscription(id)}>
        <Time at={created_at} />
      </a>
    ),
  },
  { title: say('subscription.plan'), cell: ({ subscription_id }) => subscription_id },
  { title: say('order.address'), cell: ({ address }) => <Address address={address} /> },
  { title: say('order.state'), cell: (one) => <SubscriptionState {...one} /> },
  {
    title: say('subscription.used'),
    is_figure: true,
    cell: ({ transactions_used }) => count(transactions_used),
  },
  {
    title: say('subscription.spent'),
    is_figure: true,
    cell: ({ total_price }) => <Money trx={total_price} />,
  },
  {
    title: say('subscription.do'),
    cell: (one) => (
      <Stop
        {...one}
        can_stop={isRunning(one) && one.transactions_limit === 0}
        onStopped={() => showStopped(one.id)}
      />
    ),
  },
]

type PlansProps = { plans: Record<string, Plan>; onStarted: () => void }

function Plans({ plans, onStarted }: PlansProps) {
  const chosen = useSignal<string | undefined>(undefined)
  const key = chosen.value
  const plan = key === undefined ? undefined : plans[key]
  return (
    <>
      <Table
        caption={say('subscriptions.plans')}
        rows={Object.entries(plans)}
        keyOf={([key]) => key}
        columns={planColumns((key) => {
          chosen.value = key
        })}
      />
      {key !== undefined && plan && (
        <StartSubscription
          plan_key={key}
          plan={plan}
          onDone={onStarted}
          onClose={() => {
            chosen.value = undefined
          }}
        />
      )}
    </>
  )
}

const planColumns = (choose: (key: string) => void): Column<[key: string, plan: Plan]>[] => [
  { title: say('subscription.plan'), cell: ([, { name }]) => named('said', name) },
  {
    title: say('subscription.initial_price'),
    is_figure: true,
    cell: ([, { initial_price }]) => <Money trx={initial_price} />,
  },
  {
    title: say('subscription.price'),
    is_figure: true,
    cell: ([, { price }]) => <Money trx={price} />,
  },
  {
    title: say('subscription.limit'),
    is_figure: true,
    cell: ([, { transactions_limit }]) => limitText(transactions_limit),
  },
  {
    title: say('subscription.days'),
    is_figure: true,
    cell: ([, { duration_days }]) => limitText(duration_days),
  },
  {
    title: say('subscription.do'),
    cell: ([key, { name }]) =>
      may('buy') && (
        <button
          type="button"
          class="small"
          aria-label={`${say('subscription.start')} ${named('said', name)}`}
          onClick={() => choose(key)}
        >
          {say('subscription.start')}
        </button>
      ),
  },
]
