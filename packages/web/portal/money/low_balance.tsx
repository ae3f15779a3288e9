// Below which sum the customer wants to be told.

import { useSignal } from '@preact/signals'
import { ask } from '../../shared/calls/ask.ts'
import { useQuestion } from '../../shared/calls/question.ts'
import { useSubmission } from '../../shared/calls/submission.ts'
import { toast } from '../../shared/frame/toasts.tsx'
import { Answer, FaultNote } from '../../shared/parts/answer.tsx'
import { Form, Submit, TextField } from '../../shared/parts/field.tsx'
import { say } from '../../shared/words/words.ts'

export function LowBalance() {
  const settings = useQuestion('/v1/settings', {})
  return (
    <section class="panel">
      <h2>{say('low')}</h2>
      <Answer question={settings} lines={3}>
        {({ balance_low }) => <LowBalanceForm balance_low={balance_low} />}
      </Answer>
    </section>
  )
}

/** TRX to six places. */
const SUM = /^\d{1,9}(\.\d{1,6})?$/

function LowBalanceForm({ balance_low }: { balance_low: number | null }) {
  const typed = useSignal(balance_low === null ? '' : String(balance_low))
  const wrong = useSignal<string | undefined>(undefined)
  const submission = useSubmission()
  const set = async () => {
    const text = typed.value.trim()
    wrong.value = text === '' || SUM.test(text) ? undefined : say('low.wrong')
    if (wrong.value !== undefined) return
    const body = { balance_low: Number(text) }
    if (await submission.run(() => ask('/v1/settings/change', body))) toast(say('low.saved'))
  }
  return (
    <Form
      onSubmit={set}
      wrong={submission.fault.value && <FaultNote fault={submission.fault.value} />}
    >
      <TextField
        label={say('low.sum')}
        hint={say('low.hint')}
        wrong={wrong.value}
        inputMode="decimal"
        value={typed.value}
        onText={(text) => {
          typed.value = text
        }}
      />
      <Submit is_busy={submission.is_busy.value}>{say('save')}</Submit>
    </Form>
  )
}
