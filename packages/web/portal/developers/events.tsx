// What happened, told once and numbered: the log that webhooks and streams read.

import type { Event } from 'penstock-sdk'
import { FilteredList } from '../../shared/files/filtered_list.tsx'
import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
import { Empty } from '../../shared/parts/answer.tsx'
import type { FilterField } from '../../shared/parts/list.tsx'
import type { Column } from '../../shared/parts/table.tsx'
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

const filterFields = (): FilterField[] => [
  {
    name: 'type',
    label: say('event.type'),
    choices: TYPES.map((value) => ({ value, text: nameIfKnown('event', value) ?? value })),
  },
  { name: 'subject', label: say('event.subject') },
]

type EventLine = Pick<Event, 'number' | 'type' | 'subject' | 'timestamp' | 'test'>

export default function Events({ query }: PageProps) {
  const { type, subject } = query
  return (
    <>
      <Title title={say('events')} section={say('developers')} />
      <FilteredList<EventLine>
        path="/v1/events/list"
        address={path.events}
        query={query}
        fields={filterFields()}
        bodyOf={({ type, ...rest }) => ({ ...rest, ...(type && { types: [type] }) })}
        file="events"
        caption={say('events')}
        keyOf={({ number }) => String(number)}
        isNew={(event) =>
          (!type || event.type === type) &&
          (!subject || ('subject' in event && event.subject === subject))
        }
        columns={columns()}
        none={
          <Empty>
            <p>{say('events.none')}</p>
          </Empty>
        }
      />
    </>
  )
}

const columns = (): Column<EventLine>[] => [
  {
    title: say('event.number'),
    is_figure: true,
    cell: ({ number }) => <a href={path.event(number)}>{count(number)}</a>,
  },
  { title: say('time'), cell: ({ timestamp }) => <Time at={timestamp} /> },
  { title: say('event.type'), cell: ({ type }) => <TypeWords type={type} /> },
  { title: say('event.subject'), cell: ({ subject }) => <Subject subject={subject} /> },
  { title: say('event.test'), cell: ({ test }) => (test ? say('event.is_test') : '') },
]
