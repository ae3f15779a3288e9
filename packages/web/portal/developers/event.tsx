// One event, with all that it tells, and to which webhooks it went.

import { ask } from '../../shared/calls/ask.ts'
import { useQuestion } from '../../shared/calls/question.ts'
import { may } from '../../shared/calls/session.ts'
import { useSubmission } from '../../shared/calls/submission.ts'
import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
import { toast } from '../../shared/frame/toasts.tsx'
import { LongText } from '../../shared/parts/address.tsx'
import { Answer, FaultNote } from '../../shared/parts/answer.tsx'
import { State } from '../../shared/parts/state.tsx'
import { Facts, Table } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/portal.ts'
import { count, say } from '../../shared/words/words.ts'
import { Subject } from './events.tsx'

export default function EventPage({ params }: PageProps) {
  const number = Number(params.number)
  const question = useQuestion('/v1/event/check', { number })
  return (
    <>
      <Title title={say('event.title', { number: count(number) })} section={say('developers')} />
      <Answer question={question} lines={10}>
        {({ id, type, subject, timestamp, test, data }) => (
          <div class="stack">
            <Facts
              facts={[
                [say('event.type'), <code key="type">{type}</code>],
                [say('event.subject'), <Subject key="subject" subject={subject} />],
                [say('time'), <Time key="time" at={timestamp} relative />],
                [say('event.id'), <LongText key="id" text={id} what={say('event.id')} />],
                [say('event.test'), test ? say('event.is_test') : say('no')],
              ]}
            />
            <section class="panel">
              <h2>{say('event.data')}</h2>
              <pre tabIndex={0}>
                <code>{JSON.stringify(data, null, 2)}</code>
              </pre>
            </section>
            {may('webhooks') && <Notices number={number} />}
          </div>
        )}
      </Answer>
    </>
  )
}

function Notices({ number }: { number: number }) {
  const question = useQuestion('/v1/notices/list', { event: number, limit: 100 })
  const submission = useSubmission()
  const retry = (webhook_id: string) =>
    submission.run(async () => {
      await ask('/v1/notice/retry', { webhook_id, number })
      toast(say('notice.retried'))
      await question.again()
    })
  return (
    <section class="panel">
      <h2>{say('event.notices')}</h2>
      {submission.fault.value && <FaultNote fault={submission.fault.value} />}
      <Answer question={question} lines={3}>
        {({ items }) =>
          items.length === 0 ? (
            <p>{say('event.no_notices')}</p>
          ) : (
            <Table
              caption={say('event.notices')}
              rows={items}
              keyOf={({ webhook_id }) => webhook_id}
              columns={[
                {
                  title: say('webhook'),
                  cell: ({ webhook_id }) => <a href={path.webhook(webhook_id)}>{webhook_id}</a>,
                },
                { title: say('order.state'), cell: ({ state }) => <State state={state} /> },
                {
                  title: say('notice.again'),
                  cell: ({ webhook_id }) => (
                    <button type="button" class="small" onClick={() => retry(webhook_id)}>
                      {say('retry')}
                    </button>
                  ),
                },
              ]}
            />
          )
        }
      </Answer>
    </section>
  )
}
