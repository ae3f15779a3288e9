// What a webhook was told of each event, and what it answered.

import { useSignal } from '@preact/signals'
import { ask } from '../../shared/calls/ask.ts'
import { useQuestion } from '../../shared/calls/question.ts'
import { useSubmission } from '../../shared/calls/submission.ts'
import { FilteredList } from '../../shared/files/filtered_list.tsx'
import { toast } from '../../shared/frame/toasts.tsx'
import { Answer, Empty, FaultNote } from '../../shared/parts/answer.tsx'
import { Dialog } from '../../shared/parts/dialog.tsx'
import { namedChoices } from '../../shared/parts/field.tsx'
import type { FilterField } from '../../shared/parts/list.tsx'
import { State } from '../../shared/parts/state.tsx'
import type { Column } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/portal.ts'
import { count, say } from '../../shared/words/words.ts'
import { CallFacts, CallText } from './calls.tsx'
import type { Notice, Webhook } from './wire.ts'

const STATES = ['due', 'delivered', 'dead', 'passed']

const filterFields = (): FilterField[] => [
  {
    name: 'state',
    label: say('order.state'),
    choices: namedChoices('state', STATES),
  },
]

export type NoticesProps = {
  webhook: Webhook
  query: Readonly<Record<string, string>>
  version: number
  onDone: () => void
}

export function Notices({ webhook, query, version, onDone }: NoticesProps) {
  const open = useSignal<Notice | undefined>(undefined)
  return (
    <section class="panel">
      <h2>{say('notices')}</h2>
      <FilteredList<Notice>
        path="/v1/notices/list"
        address={path.webhook(webhook.id)}
        query={query}
        fields={filterFields()}
        bodyOf={(filter) => ({ webhook_id: webhook.id, ...filter })}
        file="deliveries"
        caption={say('notices')}
        columns={columns((notice) => {
          open.value = notice
        })}
        keyOf={({ number }) => String(number)}
        version={version}
        none={
          <Empty>
            <p>{say('notices.none')}</p>
          </Empty>
        }
        none_filtered={say('notices.none_filtered')}
      />
      {open.value && (
        <NoticeDialog
          notice={open.value}
          onDone={onDone}
          onClose={() => {
            open.value = undefined
          }}
        />
      )}
    </section>
  )
}

const columns = (open: (notice: Notice) => void): Column<Notice>[] => [
  {
    title: say('event.number'),
    is_figure: true,
    cell: ({ number }) => <a href={path.event(number)}>{count(number)}</a>,
  },
  { title: say('event.type'), cell: ({ type }) => <code>{type}</code> },
  { title: say('order.state'), cell: ({ state }) => <State state={state} /> },
  {
    title: say('notice.last'),
    cell: ({ last, state }) =>
      last === null ? (
        ''
      ) : (
        <>
          <Time at={last.at} /> <CallText call={last} />
          {state !== 'delivered' && last.body && <code class="answer">{last.body}</code>}
        </>
      ),
  },
  {
    title: say('notice.due_at'),
    cell: ({ due_at }) => (due_at === null ? '' : <Time at={due_at} relative />),
  },
  {
    title: say('notice.calls'),
    cell: (notice) => (
      <button type="button" class="small" onClick={() => open(notice)}>
        {say('notice.show', { n: notice.calls })}
        <span class="for-ears"> {count(notice.number)}</span>
      </button>
    ),
  },
]

type NoticeDialogProps = { notice: Notice; onDone: () => void; onClose: () => void }

/** All calls of a notice. */
function NoticeDialog({ notice, onDone, onClose }: NoticeDialogProps) {
  const { webhook_id, number, type } = notice
  const question = useQuestion('/v1/notice/check', { webhook_id, number })
  const submission = useSubmission()
  const retry = async () => {
    if (!(await submission.run(() => ask('/v1/notice/retry', { webhook_id, number })))) return
    toast(say('notice.retried'))
    onDone()
    await question.again()
  }
  return (
    <Dialog title={say('notice.title', { number: count(number), type })} onClose={onClose}>
      {submission.fault.value && <FaultNote fault={submission.fault.value} />}
      <Answer question={question} lines={4}>
        {({ notice, calls }) => (
          <div class="stack">
            <p>
              <State state={notice.state} />
            </p>
            {calls.length === 0 && <p>{say('notice.no_calls')}</p>}
            {calls.map((call) => (
              <CallFacts key={call.at} call={call} />
            ))}
          </div>
        )}
      </Answer>
      <p class="actions">
        <button type="button" class="main" disabled={submission.is_busy.value} onClick={retry}>
          {say('retry')}
        </button>
      </p>
    </Dialog>
  )
}
