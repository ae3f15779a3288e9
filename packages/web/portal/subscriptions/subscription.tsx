// One subscription: its state, the transactions that it has served, and when its address was
// supplied.

import type { Result } from 'penstock-sdk'
import type { LiveEvent } from '../../shared/calls/live.ts'
import { useQuestion } from '../../shared/calls/question.ts'
import { Export, pagesOfList } from '../../shared/files/export.tsx'
import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
import { Address, Hash, LongText } from '../../shared/parts/address.tsx'
import { Answer, Empty } from '../../shared/parts/answer.tsx'
import { List } from '../../shared/parts/list.tsx'
import { Money } from '../../shared/parts/money.tsx'
import { type Column, Facts, Table } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/portal.ts'
import { count, say } from '../../shared/words/words.ts'
import { isRunning, limitText, Stop, SubscriptionState } from './facts.tsx'

type Subscription = Result<'/v1/subscription/check'>
type Use = Result<'/v1/subscription/uses'>['items'][number]

export default function OneSubscription({ params }: PageProps) {
  const id = params.id!
  const isAbout = (event: LiveEvent) => 'subject' in event && event.subject === `subscription:${id}`
  const question = useQuestion(
    '/v1/subscription/check',
    { id },
    { patch: (known, event) => (isAbout(event) ? 'again' : known) },
  )
  const known_plans = useQuestion('/v1/subscriptions', {}).answer.value
  return (
    <>
      <Title title={say('subscription')} section={say('subscriptions')} />
      <Answer question={question} lines={12}>
        {(subscription) => (
          <div class="stack">
            <section class="panel">
              <SubscriptionFacts {...subscription} />
              <p class="actions">
                <Stop
                  {...subscription}
                  can_stop={isRunning(subscription) && hasNoLimit(subscription, known_plans)}
                  onStopped={() => {
                    question.answer.value = { ...subscription, status: 'stopped' }
                    void question.again()
                  }}
                />
              </p>
            </section>
            <section class="panel">
              <h2>{say('subscription.uses')}</h2>
              <Export
                name="uses"
                pages={(limit) => pagesOfList<Use>('/v1/subscription/uses', { id }, limit)}
              />
              <List<Use>
                path="/v1/subscription/uses"
                body={{ id }}
                caption={say('subscription.uses')}
                columns={columnsOfUses()}
                keyOf={({ tx_id }) => tx_id}
                isStale={isAbout}
                empty={
                  <Empty>
                    <p>{say('subscription.no_uses')}</p>
                  </Empty>
                }
              />
            </section>
            <Supplies id={id} isAbout={isAbout} />
          </div>
        )}
      </Answer>
    </>
  )
}

/** Neither the plan has a limit, which is not known at once, nor was one asked for. */
const hasNoLimit = (
  { subscription_id, params }: Subscription,
  plans: Result<'/v1/subscriptions'> | undefined,
): boolean =>
  params.transactions_limit === 0 &&
  plans !== undefined &&
  (plans[subscription_id]?.transactions_limit ?? 0) === 0

function SubscriptionFacts(subscription: Subscription) {
  const { id, subscription_id, address, params, external_id, created_at, expire_at } = subscription
  return (
    <Facts
      facts={[
        [say('order.state'), <SubscriptionState key="state" {...subscription} />],
        [say('subscription.plan'), subscription_id],
        [say('order.address'), <Address key="address" address={address} />],
        [say('order.created'), <Time key="created" at={created_at} relative />],
        [
          say('subscription.until'),
          expire_at === null ? (
            say('subscription.unlimited')
          ) : (
            <Time key="until" at={expire_at} relative />
          ),
        ],
        [say('subscription.limit'), limitText(params.transactions_limit)],
        [say('order.external_id'), external_id ?? say('none')],
        [say('id'), <LongText key="id" text={id} what={say('id')} />],
      ]}
    />
  )
}

const columnsOfUses = (): Column<Use>[] => [
  { title: say('time'), cell: ({ at }) => <Time at={at} /> },
  { title: say('order.hash'), cell: ({ tx_id }) => <Hash tx_id={tx_id} /> },
  { title: say('subscription.energy'), is_figure: true, cell: ({ energy }) => count(energy) },
  {
    title: say('subscription.counts'),
    is_figure: true,
    cell: ({ transactions }) => count(transactions),
  },
  {
    title: say('subscription.spent'),
    is_figure: true,
    cell: ({ charged }) => <Money trx={charged} />,
  },
]

type SuppliesProps = { id: string; isAbout: (event: LiveEvent) => boolean }

/** The newest of them; all that is kept is in the log of events. */
function Supplies({ id, isAbout }: SuppliesProps) {
  const question = useQuestion(
    '/v1/events/list',
    { subject: `subscription:${id}`, types: ['subscription.supplied'], limit: 25 },
    { patch: (known, event) => (isAbout(event) ? 'again' : known) },
  )
  return (
    <section class="panel">
      <h2>{say('subscription.supplies')}</h2>
      <Answer question={question}>
        {({ items }) =>
          items.length === 0 ? (
            <p>{say('subscription.no_supplies')}</p>
          ) : (
            <Table
              caption={say('subscription.supplies')}
              rows={items}
              keyOf={({ id }) => id}
              columns={[
                { title: say('time'), cell: ({ timestamp }) => <Time at={timestamp} relative /> },
                {
                  title: say('event'),
                  cell: ({ number }) => <a href={path.event(number)}>{count(number)}</a>,
                },
              ]}
            />
          )
        }
      </Answer>
    </section>
  )
}
