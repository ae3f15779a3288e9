// The processes that are there, and what each of them does for all.

import { Time } from '../../shared/parts/time.tsx'
import { named, say } from '../../shared/words/words.ts'
import { useRun } from '../calls/calls.ts'
import { Rows } from '../calls/rows.tsx'

export function Processes() {
  const processes = useRun(
    'processes list',
    {},
    { patch: (known, { type }) => (type === 'tick' ? 'again' : known) },
  )
  return (
    <Rows
      question={processes}
      none={say('processes.none')}
      caption={say('processes')}
      caption_shown
      keyOf={({ id }) => id}
      columns={[
        { title: say('role'), cell: ({ role }) => role },
        { title: say('processes.host'), cell: ({ host }) => <code>{host}</code> },
        { title: say('processes.version'), cell: ({ version }) => version },
        {
          title: say('processes.duties'),
          cell: ({ duties }) => duties.map((one) => named('duty', one)).join(', ') || say('none'),
        },
        { title: say('since'), cell: ({ started_at }) => <Time at={started_at} relative /> },
      ]}
    />
  )
}
