// Notes about a customer, the newest first, and a field for another.

import { useSignal } from '@preact/signals'
import { useSubmission } from '../../shared/calls/submission.ts'
import { toast } from '../../shared/frame/toasts.tsx'
import { Answer, FaultNote } from '../../shared/parts/answer.tsx'
import { Field, Form, Submit } from '../../shared/parts/field.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { say } from '../../shared/words/words.ts'
import { mayChange, run, useRun } from '../calls/calls.ts'

const LIMIT = 20
const TEXT_MAX = 2_000

export function Notes({ customer }: { customer: string }) {
  const before = useSignal<string | undefined>(undefined)
  const notes = useRun('customers notes', {
    customer,
    limit: LIMIT,
    ...(before.value !== undefined && { before: before.value }),
  })
  const first_page = () => {
    before.value = undefined
    void notes.again()
  }
  return (
    <section class="panel stack">
      <h2>{say('notes')}</h2>
      <p class="quiet">{say('notes.sentence')}</p>
      {mayChange() && <NewNote customer={customer} onDone={first_page} />}
      <Answer question={notes} lines={2}>
        {(rows) => (
          <>
            {rows.length === 0 && <p>{say('notes.none')}</p>}
            <ul class="stack">
              {rows.map(({ id, at, made_by, text }) => (
                <li key={id}>
                  <p class="written">{text}</p>
                  <p class="quiet">
                    {made_by}, <Time at={at} relative />
                  </p>
                </li>
              ))}
            </ul>
            {rows.length === LIMIT && (
              <p class="actions">
                <button
                  type="button"
                  onClick={() => {
                    before.value = rows.at(-1)!.id
                  }}
                >
                  {say('list.older')}
                </button>
              </p>
            )}
          </>
        )}
      </Answer>
    </section>
  )
}

function NewNote({ customer, onDone }: { customer: string; onDone: () => void }) {
  const text = useSignal('')
  const submission = useSubmission()
  const submit = async () => {
    const reason = say('notes')
    if (
      !(await submission.run(() => run('customers note', { customer, text: text.value, reason })))
    )
      return
    text.value = ''
    toast(say('done'))
    onDone()
  }
  return (
    <Form onSubmit={submit}>
      <Field label={say('notes.new')}>
        {(control) => (
          <textarea
            {...control}
            rows={3}
            maxLength={TEXT_MAX}
            value={text.value}
            onInput={({ currentTarget }) => {
              text.value = currentTarget.value
            }}
          />
        )}
      </Field>
      {submission.fault.value && <FaultNote fault={submission.fault.value} />}
      <Submit
        is_busy={submission.is_busy.value}
        kind="minor"
        off={text.value.trim() === '' ? say('notes.empty') : undefined}
      >
        {say('notes.add')}
      </Submit>
    </Form>
  )
}
