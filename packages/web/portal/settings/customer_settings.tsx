// What the customer has set: how early to be told of the end of an hour, and lines of its own on
// invoices.

import { useSignal } from '@preact/signals'
import type { Body, Result } from 'penstock-sdk'
import type { ComponentChildren } from 'preact'
import { ask } from '../../shared/calls/ask.ts'
import { useQuestion } from '../../shared/calls/question.ts'
import { may } from '../../shared/calls/session.ts'
import { useSubmission } from '../../shared/calls/submission.ts'
import { toast } from '../../shared/frame/toasts.tsx'
import { Answer, FaultNote } from '../../shared/parts/answer.tsx'
import { Form, LinesField, linesOf, Submit, TextField } from '../../shared/parts/field.tsx'
import { say } from '../../shared/words/words.ts'

type Choices = Result<'/v1/settings'>
const MINUTES = /^([1-9]|[1-4]\d|5[0-5])$/

type SettingProps = { title: string; children: (settings: Choices) => ComponentChildren }

function Setting({ title, children }: SettingProps) {
  const question = useQuestion('/v1/settings', {})
  return (
    <section class="panel">
      <h2>{title}</h2>
      <Answer question={question} lines={4}>
        {children}
      </Answer>
    </section>
  )
}

export const EndingMinutes = () => (
  <Setting title={say('settings.ending')}>
    {({ ending_minutes }) => <EndingForm ending_minutes={ending_minutes} />}
  </Setting>
)

export const BillingLines = () => (
  <Setting title={say('settings.billing')}>
    {({ billing }) => <BillingForm billing={billing} />}
  </Setting>
)

/** Saves a change, and says that it did. */
function useSaving() {
  const submission = useSubmission()
  const { value } = submission.fault
  return {
    is_busy: submission.is_busy.value,
    wrong: value && <FaultNote fault={value} />,
    async save(change: Body<'/v1/settings/change'>) {
      if (await submission.run(() => ask('/v1/settings/change', change)))
        toast(say('settings.saved'))
    },
  }
}

/** Why one may not save; undefined when one may. */
const whyNot = (scope: string) => (may(scope) ? undefined : say('page.forbidden', { scope }))

function EndingForm({ ending_minutes }: Pick<Choices, 'ending_minutes'>) {
  const typed = useSignal(ending_minutes === null ? '' : String(ending_minutes))
  const { save, is_busy, wrong } = useSaving()
  const text = typed.value.trim()
  const is_right = text === '' || MINUTES.test(text)
  return (
    <Form
      wrong={wrong}
      onSubmit={() => {
        if (is_right) void save({ ending_minutes: Number(text) })
      }}
    >
      <TextField
        label={say('settings.ending_minutes')}
        hint={say('settings.ending_hint')}
        inputMode="numeric"
        value={typed.value}
        wrong={is_right ? undefined : say('settings.ending_wrong')}
        onText={(next) => {
          typed.value = next
        }}
      />
      <Submit is_busy={is_busy} off={whyNot('webhooks')}>
        {say('save')}
      </Submit>
    </Form>
  )
}

function BillingForm({ billing }: Pick<Choices, 'billing'>) {
  const typed = useSignal(billing.join('\n'))
  const { save, is_busy, wrong } = useSaving()
  return (
    <Form wrong={wrong} onSubmit={() => void save({ billing: linesOf(typed.value) })}>
      <LinesField
        label={say('settings.billing_lines')}
        hint={say('settings.billing_hint')}
        rows={8}
        value={typed.value}
        onText={(next) => {
          typed.value = next
        }}
      />
      <Submit is_busy={is_busy} off={whyNot('money')}>
        {say('save')}
      </Submit>
    </Form>
  )
}
