// Who has changed what, for ever: the users and the keys of the customer.

import type { Result } from 'penstock-sdk'
import { Title } from '../frame/title.tsx'
import { Empty } from '../parts/answer.tsx'
import { List } from '../parts/list.tsx'
import { Time } from '../parts/time.tsx'
import { say } from '../words/words.ts'

type Action = Result<'/v1/actions/list'>['items'][number]

export default function Record() {
  return (
    <>
      <Title title={say('record')} section={say('settings')} />
      <List<Action>
        path="/v1/actions/list"
        caption={say('record')}
        keyOf={({ number }) => String(number)}
        empty={
          <Empty>
            <p>{say('record.none')}</p>
          </Empty>
        }
        columns={[
          { title: say('record.at'), cell: ({ at }) => <Time at={at} /> },
          { title: say('record.by'), cell: ({ by }) => by.name },
          { title: say('record.action'), cell: ({ action }) => <code>{action}</code> },
          { title: say('record.subject'), cell: ({ subject }) => <code>{subject}</code> },
          { title: say('settings.from'), cell: ({ ip }) => ip ?? '–' },
          { title: say('record.change'), cell: Change },
        ]}
      />
    </>
  )
}

/** Before and after, as they are kept. */
const Change = ({ before, after }: Action) => (
  <details>
    <summary>{say('record.show')}</summary>
    <pre tabIndex={0}>
      {JSON.stringify(before, null, 2)}
      {'\n→ '}
      {JSON.stringify(after, null, 2)}
    </pre>
  </details>
)
