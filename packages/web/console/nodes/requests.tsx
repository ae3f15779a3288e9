// How requests to nodes went in the last hour, in each process: where a node fails, and why.

import { Shape } from '../../shared/parts/state.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { count, say } from '../../shared/words/words.ts'
import { type Row, useRun } from '../calls/calls.ts'
import { Rows } from '../calls/rows.tsx'

/** Requests of one process to one node; null: there was none. */
type Requests = Row<'nodes requests'>

export function NodeRequests() {
  const requests = useRun(
    'nodes requests',
    {},
    { patch: (known, { type }) => (type === 'tick' ? 'again' : known) },
  )
  return (
    <Rows
      question={requests}
      none={say('nodes.no_requests')}
      caption={say('nodes.requests')}
      caption_shown
      keyOf={({ process_id, name }) => `${process_id} ${name}`}
      columns={COLUMNS()}
    />
  )
}

const msText = (ms: number | null) => (ms === null ? '' : say('time.ms', { n: ms }))

const COLUMNS = () => [
  { title: say('node'), cell: ({ name }: Requests) => <code>{name}</code> },
  {
    title: say('process'),
    cell: ({ role, host }: Requests) => (
      <>
        {role} <code>{host}</code>
      </>
    ),
  },
  {
    title: say('nodes.asked'),
    is_figure: true,
    cell: ({ requests }: Requests) => count(requests),
  },
  {
    title: say('failures'),
    is_figure: true,
    cell: ({ failures }: Requests) => (
      <>
        {failures > 0 && <Shape mark="failed" />} {count(failures)}
      </>
    ),
  },
  { title: say('nodes.p50'), is_figure: true, cell: ({ p50_ms }: Requests) => msText(p50_ms) },
  { title: say('nodes.p95'), is_figure: true, cell: ({ p95_ms }: Requests) => msText(p95_ms) },
  {
    title: say('chain.head'),
    is_figure: true,
    cell: ({ head_number }: Requests) => (head_number === null ? '' : count(head_number)),
  },
  {
    title: say('last_answer'),
    cell: ({ answered_at }: Requests) =>
      answered_at === null ? say('never') : <Time at={answered_at} relative />,
  },
  {
    title: say('last_error'),
    cell: ({ failed_at, error }: Requests) =>
      failed_at === null ? (
        say('none')
      ) : (
        <>
          <span lang="en">{error}</span>, <Time at={failed_at} relative />
        </>
      ),
  },
]
