// One order: where it is and why, step by step; what was delegated, charged and told,
// and the proof of it.

import { useQuestion } from '../../shared/calls/question.ts'
import { may } from '../../shared/calls/session.ts'
import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
import { Address, Hash, LongText, shortText } from '../../shared/parts/address.tsx'
import { Answer } from '../../shared/parts/answer.tsx'
import { Money } from '../../shared/parts/money.tsx'
import { State } from '../../shared/parts/state.tsx'
import { Facts, Table } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/portal.ts'
import { count, named, say } from '../../shared/words/words.ts'
import { amountsText } from './order_facts.tsx'
import { type OrderTimeline, sentenceOf, Timeline } from './order_timeline.tsx'
import { ReceiptPanel } from './receipt.tsx'

export default function Order({ params }: PageProps) {
  const id = params.id!
  const question = useQuestion(
    '/v1/transaction/timeline',
    { id },
    {
      patch: (known, event) =>
        'subject' in event && event.subject === `order:${id}` ? 'again' : known,
    },
  )
  return (
    <>
      <OrderTitle id={id} timeline={question.answer.value} />
      <Answer question={question} lines={12}>
        {(timeline) => <WholeOrder {...timeline} />}
      </Answer>
    </>
  )
}

type OrderTitleProps = { id: string; timeline: OrderTimeline | undefined }

/** The purchase in one line, as soon as it is known: the same heading before and after, which has
 *  the focus. */
function OrderTitle({ id, timeline }: OrderTitleProps) {
  if (!timeline) return <Title title={say('order.title', { id })} section={say('orders')} />
  const { service, status, params } = timeline.transaction
  const bought = amountsText(params.amounts) || named('service', service)
  return (
    <Title title={`${bought} → ${shortText(params.address)}`} section={say('orders')}>
      <State state={status} pill />
    </Title>
  )
}

function WholeOrder(timeline: OrderTimeline) {
  const { transaction, steps, chain_ahead_seconds, entries, notices } = timeline
  const { id, external_id, service, status, amount, created_at } = transaction
  const { address, amounts } = transaction.params
  const again = new URLSearchParams({ service, address })
  if (amounts?.energy) again.set('energy', String(amounts.energy))
  if (amounts?.bandwidth) again.set('bandwidth', String(amounts.bandwidth))
  return (
    <div class="stack">
      <p class="outcome">{sentenceOf(timeline)}</p>
      <p class="quiet">
        {say('order.id')} <LongText text={id} what={say('order.id')} whole />
      </p>
      <div class="panels">
        <section class="panel">
          <h2>{say('order.timeline')}</h2>
          <Timeline steps={steps} chain_ahead_seconds={chain_ahead_seconds} />
        </section>
        <section class="panel">
          <h2>{say('order.what')}</h2>
          <Facts
            facts={[
              [say('order.address'), <Address key="address" address={address} />],
              [say('order.price'), <Money key="price" trx={amount} />],
              [say('order.created'), <Time key="created" at={created_at} relative />],
              [say('order.external_id'), external_id ?? say('none')],
            ]}
          />
          {may('buy') && (
            <p class="actions">
              <a class="button" href={`${path.buy}?${again}`}>
                {say('order.again')}
              </a>
            </p>
          )}
        </section>
      </div>
      <Delegations timeline={timeline} />
      {entries.length > 0 && <Entries entries={entries} />}
      {notices.length > 0 && <Notices notices={notices} />}
      {status === 'success' && <ReceiptPanel id={id} />}
    </div>
  )
}

function Delegations({ timeline }: { timeline: OrderTimeline }) {
  const { delegations } = timeline.transaction
  if (delegations.length === 0) return null
  return (
    <section class="panel">
      <h2>{say('order.delegations')}</h2>
      <Table
        caption={say('order.delegations')}
        rows={delegations}
        keyOf={({ hash }) => hash}
        columns={[
          { title: say('order.resource'), cell: ({ resource }) => named('resource', resource) },
          {
            title: say('order.amount'),
            is_figure: true,
            cell: ({ amount }) => count(amount),
          },
          { title: say('order.hash'), cell: ({ hash }) => <Hash tx_id={hash} /> },
          {
            title: say('order.until'),
            cell: ({ expires_at }) => <Time at={expires_at} relative />,
          },
          {
            title: say('order.reclaim_hash'),
            cell: ({ reclaim_hash }) => reclaim_hash && <Hash tx_id={reclaim_hash} />,
          },
        ]}
      />
    </section>
  )
}

function Entries({ entries }: Pick<OrderTimeline, 'entries'>) {
  return (
    <section class="panel">
      <h2>{say('order.entries')}</h2>
      <Table
        caption={say('order.entries')}
        rows={entries}
        keyOf={({ id }) => id}
        columns={[
          { title: say('time'), cell: ({ at }) => <Time at={at} /> },
          { title: say('entry.kind'), cell: ({ kind }) => named('entry', kind) },
          {
            title: say('entry.amount'),
            is_figure: true,
            cell: ({ amount }) => <Money trx={amount} sign />,
          },
          {
            title: say('entry.held'),
            is_figure: true,
            cell: ({ held }) => <Money trx={held} sign />,
          },
          {
            title: say('entry.spendable'),
            is_figure: true,
            cell: ({ spendable }) => <Money trx={spendable} />,
          },
        ]}
      />
    </section>
  )
}

function Notices({ notices }: Pick<OrderTimeline, 'notices'>) {
  return (
    <section class="panel">
      <h2>{say('order.notices')}</h2>
      <Table
        caption={say('order.notices')}
        rows={notices}
        keyOf={({ webhook_id, number }) => `${webhook_id} ${number}`}
        columns={[
          {
            title: say('event'),
            cell: ({ number, type }) => (
              <a href={path.event(number)}>
                {count(number)} {type}
              </a>
            ),
          },
          {
            title: say('webhook'),
            cell: ({ webhook_id }) => <a href={path.webhook(webhook_id)}>{webhook_id}</a>,
          },
          { title: say('order.state'), cell: ({ state }) => <State state={state} /> },
          {
            title: say('notice.last'),
            cell: ({ last }) =>
              last && (
                <>
                  <Time at={last.at} /> {last.status ?? last.error}
                </>
              ),
          },
        ]}
      />
    </section>
  )
}
