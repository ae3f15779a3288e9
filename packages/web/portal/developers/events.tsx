// What happened, told once and numbered: the log that webhooks and streams read.

import type { Event } from 'penstock-sdk'
import { useLocation } from 'preact-iso/router'
import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
import { Empty } from '../../shared/parts/answer.tsx'
import { ChoiceField } from '../../shared/parts/field.tsx'
import { List } from '../../shared/parts/list.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/portal.ts'
import { count, nameIfKnown, say } from '../../shared/words/words.ts'

/** What an event is about, as a link where there is a page for it. */
export function Subject({ subject }: { subject: string }) {
  const [noun, id = ''] = subject.split(':', 2)
  return noun === 'order' ? <a href={path.order(id)}>{subject}</a> : <code>{subject}</code>
}

/** A type in words, and as the wire has it. */
const TypeWords = ({ type }: { type: string }) => (
  <>
    {nameIfKnown('event', type) ?? ''} <code>{type}</code>
  </>
)

/** Those that one would filter by. */
const TYPES = [
  'order.created',
  'order.succeeded',
  'order.failed',
  'order.solid',
  'order.ended',
  'deposit.seen',
  'deposit.credited',
  'deposit.held',
  'balance.low',
  'webhook.disabled',
  'key.ending',
]

export default function Events({ query }: PageProps) {
  const { route } = useLocation()
  const { type = '' } = query
  return (
    <>
      <Title title={say('events')} section={say('developers')} />
      <div class="filters">
        <ChoiceField
          label={say('event.type')}
          value={type}
          choices={[
            { value: '', text: say('filter.any') },
            ...TYPES.map((value) => ({ value, text: value })),
          ]}
          onChoice={(value) =>
            route(value === '' ? path.events : `${path.events}?type=${encodeURIComponent(value)}`)
          }
        />
      </div>
      <List<Pick<Event, 'number' | 'type' | 'subject' | 'timestamp' | 'test'>>
        path="/v1/events/list"
        body={type === '' ? {} : { types: [type] }}
        caption={say('events')}
        keyOf={({ number }) => String(number)}
        isNew={(event) => type === '' || event.type === type}
        columns={[
          {
            title: say('event.number'),
            is_figure: true,
            cell: ({ number }) => <a href={path.event(number)}>{count(number)}</a>,
          },
          { title: say('time'), cell: ({ timestamp }) => <Time at={timestamp} /> },
          { title: say('event.type'), cell: ({ type }) => <TypeWords type={type} /> },
          { title: say('event.subject'), cell: ({ subject }) => <Subject subject={subject} /> },
          { title: say('event.test'), cell: ({ test }) => (test ? say('event.is_test') : '') },
        ]}
        empty={
          <Empty>
            <p>{type === '' ? say('events.none') : say('events.none_filtered')}</p>
          </Empty>
        }
      />
    </>
  )
}
