// Where operators are signed in.

import { session } from '../calls/session.ts'
import { useRun } from '../console_calls/calls.ts'
import { ReasonButton } from '../console_calls/reason_button.tsx'
import { Rows } from '../console_calls/rows.tsx'
import { Time } from '../parts/time.tsx'
import { say } from '../words/words.ts'

type OperatorSession = {
  id: string
  user_id: string
  name: string
  made_at: string
  used_at: string
  ip: string
  browser: string
}

export function Sessions() {
  const sessions = useRun<OperatorSession[]>('sessions list', { limit: 100 })
  return (
    <Rows
      question={sessions}
      none={say('none')}
      caption={say('settings.sessions')}
      caption_shown
      keyOf={({ id }) => id}
      columns={[
        {
          title: say('settings.name'),
          cell: ({ name, user_id }) =>
            user_id === session.value?.user.id ? `${name} (${say('sessions.yours')})` : name,
        },
        { title: say('settings.from'), cell: ({ ip }) => <code>{ip}</code> },
        { title: say('settings.browser'), cell: ({ browser }) => browser },
        { title: say('settings.since'), cell: ({ made_at }) => <Time at={made_at} /> },
        { title: say('settings.used'), cell: ({ used_at }) => <Time at={used_at} relative /> },
        {
          title: say('settings.end'),
          cell: ({ id, name, ip }) => (
            <ReasonButton
              text={say('settings.end')}
              about={`${name}, ${ip}`}
              words="sessions end"
              options={{ session: id }}
              onDone={() => void sessions.again()}
            >
              <p>{say('sessions.end.sentence', { name })}</p>
            </ReasonButton>
          ),
        },
      ]}
    />
  )
}
