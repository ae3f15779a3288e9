// Where one is signed in, and for those who manage users: where anybody is.

import { useSignal } from '@preact/signals'
import type { Result } from 'penstock-sdk'
import { ask } from '../../shared/calls/ask.ts'
import { useSubmission } from '../../shared/calls/submission.ts'
import { FilteredList } from '../../shared/files/filtered_list.tsx'
import { toast } from '../../shared/frame/toasts.tsx'
import { Empty, FaultNote } from '../../shared/parts/answer.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/portal.ts'
import { browserText } from '../../shared/users/browser.ts'
import { say } from '../../shared/words/words.ts'

type Session = Result<'/v1/sessions/list'>['items'][number]

export function Sessions({ query }: { query: Readonly<Record<string, string>> }) {
  const version = useSignal(0)
  const submission = useSubmission()
  const { value: fault } = submission.fault
  const end = ({ id, user }: Session) =>
    void submission.run(async () => {
      await ask('/v1/session/end', { id })
      toast(say('settings.session_ended', { name: user.name }))
      version.value++
    })
  return (
    <section>
      <h2>{say('settings.sessions')}</h2>
      {fault && <FaultNote fault={fault} />}
      <FilteredList<Session>
        path="/v1/sessions/list"
        address={path.settings}
        query={query}
        fields={[{ name: 'name', label: say('settings.name') }]}
        file="sessions"
        caption={say('settings.sessions')}
        limit={10}
        version={version.value}
        keyOf={({ id }) => id}
        none={
          <Empty>
            <p>{say('settings.no_session')}</p>
          </Empty>
        }
        columns={[
          { title: say('settings.name'), cell: ({ user }) => user.name },
          { title: say('settings.from'), cell: ({ ip }) => <code>{ip}</code> },
          {
            title: say('settings.browser'),
            cell: ({ browser }) => <span title={browser}>{browserText(browser)}</span>,
          },
          { title: say('settings.since'), cell: ({ created_at }) => <Time at={created_at} /> },
          {
            title: say('settings.used'),
            cell: ({ last_used_at }) => <Time at={last_used_at} relative />,
          },
          {
            title: say('settings.end'),
            cell: (session) =>
              session.current ? (
                say('settings.this_one')
              ) : (
                <button
                  type="button"
                  class="small"
                  disabled={submission.is_busy.value}
                  aria-label={`${say('settings.end')} ${session.user.name}`}
                  onClick={() => end(session)}
                >
                  {say('settings.end')}
                </button>
              ),
          },
        ]}
      />
    </section>
  )
}
