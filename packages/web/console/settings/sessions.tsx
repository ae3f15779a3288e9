// Where operators are signed in.

import { forgetSession, session } from '../../shared/calls/session.ts'
import { Block } from '../../shared/parts/block.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { browserText } from '../../shared/users/browser.ts'
import { type Key, say } from '../../shared/words/words.ts'
import { type Row, useRun } from '../calls/calls.ts'
import { ReasonButton } from '../calls/reason_button.tsx'
import { Rows } from '../calls/rows.tsx'

type OperatorSession = Row<'sessions list'>

/** Whether it is the one of this browser, or another of one's own. */
const whose = ({ id, user_id }: OperatorSession): Key | undefined =>
  id === session.value?.id
    ? 'sessions.this_one'
    : user_id === session.value?.user.id
      ? 'sessions.yours'
      : undefined

export function Sessions() {
  const sessions = useRun('sessions list', { limit: 100 })
  return (
    <Block title={say('settings.sessions')} why={say('sessions.why')}>
      <Rows
        question={sessions}
        none={say('none')}
        caption={say('settings.sessions')}
        keyOf={({ id }) => id}
        columns={[
          {
            title: say('settings.name'),
            cell: (one) => (whose(one) ? `${one.name} (${say(whose(one)!)})` : one.name),
          },
          { title: say('settings.from'), cell: ({ ip }) => <code>{ip}</code> },
          {
            title: say('settings.browser'),
            cell: ({ browser }) => <span title={browser}>{browserText(browser)}</span>,
          },
          { title: say('settings.since'), cell: ({ made_at }) => <Time at={made_at} /> },
          { title: say('settings.used'), cell: ({ used_at }) => <Time at={used_at} relative /> },
          {
            title: say('settings.end'),
            cell: ({ id, name, ip }) => (
              <ReasonButton
                text={say('settings.end')}
                about={`${name}, ${ip}`}
                words="sessions end"
                body={{ session: id }}
                onDone={() => (id === session.value?.id ? forgetSession() : void sessions.again())}
              >
                <p>{say('sessions.end.sentence', { name })}</p>
              </ReasonButton>
            ),
          },
        ]}
      />
    </Block>
  )
}
