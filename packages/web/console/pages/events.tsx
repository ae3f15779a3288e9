// What the house was told of, newest first: those of one type or about one subject, as they come.

import { useSignal } from '@preact/signals'
import { useLocation } from 'preact-iso/router'
import { Export, pagesAfter } from '../../shared/files/export.tsx'
import { Title } from '../../shared/frame/title.tsx'
import { ChoiceField, Form, Submit, TextField } from '../../shared/parts/field.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/console.ts'
import { count, say } from '../../shared/words/words.ts'
import { type Row, run, useRun } from '../calls/calls.ts'
import { Rows } from '../calls/rows.tsx'

type HouseEvent = Row<'events list'>

/** Types of events that the house is told of. */
const TYPES = [
  'alert.raised',
  'alert.cleared',
  'review.opened',
  'case.opened',
  'case.changed',
  'case.late',
  'customer.created',
  'action.made',
]
const LIMIT = 25

export default function Events() {
  const { query } = useLocation()
  const { type = '', subject = '', before } = query
  const filter = { ...(type && { type: [type] }), ...(subject && { subject }) }
  const page = { limit: LIMIT, ...(before && { before: Number(before) }) }
  const events = useRun(
    'events list',
    { customer: 'house', ...filter, ...page },
    {
      patch: (known, event) =>
        event.type === 'tick' || (type && event.type !== type) || before ? known : 'again',
    },
  )
  const rows = events.answer.value ?? []
  return (
    <>
      <Title title={say('events')}>
        <Export name="events" pages={(limit) => pagesOfEvents(filter, limit)} />
      </Title>
      <Filter key={`${type} ${subject}`} type={type} subject={subject} />
      <Rows
        question={events}
        none={type || subject ? say('events.none_filtered') : say('events.none')}
        caption={say('events')}
        keyOf={({ number }) => String(number)}
        columns={COLUMNS()}
      />
      {rows.length === LIMIT && (
        <p class="pager">
          <a href={pathOf({ type, subject, before: String(rows.at(-1)!.number) })}>
            {say('list.older')}
          </a>
        </p>
      )}
    </>
  )
}

type EventFilter = { type?: string[]; subject?: string }

/** Those of the filter, page after page. */
const pagesOfEvents = (filter: EventFilter, limit: number) =>
  pagesAfter<HouseEvent>(limit, (last) => {
    const before = last && { before: last.number }
    return run('events list', { customer: 'house', ...filter, limit, ...before })
  })

const COLUMNS = () => [
  { title: say('number'), is_figure: true, cell: ({ number }: HouseEvent) => count(number) },
  { title: say('time'), cell: ({ at }: HouseEvent) => <Time at={at} /> },
  {
    title: say('event'),
    cell: ({ type }: HouseEvent) => (
      <a href={pathOf({ type })}>
        <code>{type}</code>
      </a>
    ),
  },
  {
    title: say('events.subject'),
    cell: ({ subject }: HouseEvent) => (
      <a href={pathOf({ subject })}>
        <code>{subject}</code>
      </a>
    ),
  },
  {
    title: say('events.data'),
    cell: ({ data }: HouseEvent) => (
      <details>
        <summary>{say('events.show')}</summary>
        <pre>{JSON.stringify(data, null, 2)}</pre>
      </details>
    ),
  },
]

/** The address of the page with these in its query; what is empty is left out. */
function pathOf(query: Record<string, string>): string {
  const given = Object.entries(query).filter(([, value]) => value !== '')
  return given.length === 0 ? path.events : `${path.events}?${new URLSearchParams(given)}`
}

/** What is filtered by stands in the address: back works, and a link can be sent. */
function Filter({ type, subject }: { type: string; subject: string }) {
  const { route } = useLocation()
  const about = useSignal(subject)
  return (
    <Form onSubmit={() => route(pathOf({ type, subject: about.value }))}>
      <ChoiceField
        label={say('event')}
        value={type}
        choices={[
          { value: '', text: say('events.all_types') },
          ...TYPES.map((value) => ({ value, text: value })),
        ]}
        onChoice={(value) => route(pathOf({ type: value, subject: about.value }))}
      />
      <TextField
        label={say('events.subject')}
        hint={say('events.subject.hint')}
        value={about.value}
        onText={(text) => {
          about.value = text.trim()
        }}
      />
      <Submit>{say('events.filter')}</Submit>
    </Form>
  )
}
