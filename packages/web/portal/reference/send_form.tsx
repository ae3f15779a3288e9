// Calls an endpoint and shows what it answers, refusals too: as the one who is signed in, with a
// key that is pasted here, or as anybody where the endpoint asks for no key.

import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { type Envelope, exchange, NOT_ANSWERED } from '../../shared/calls/ask.ts'
import { newExternalId } from '../../shared/calls/ids.ts'
import { isUnknown } from '../../shared/calls/outcome.ts'
import { session } from '../../shared/calls/session.ts'
import { useSubmission } from '../../shared/calls/submission.ts'
import { CheckField, Form, Submit } from '../../shared/parts/field.tsx'
import { say } from '../../shared/words/words.ts'
import type { Endpoint } from './document.ts'
import { JsonText } from './prose.tsx'
import { KeyFields, useKey } from './typed_key.tsx'

type SendFormProps = { endpoint: Endpoint; body: string; is_json: boolean }

export function SendForm({ endpoint, body, is_json }: SendFormProps) {
  const { changes, is_public, is_stream, takes_idempotency_key } = endpoint
  const is_understood = useSignal(false)
  const answer = useSignal<Envelope | undefined>(undefined)
  const submission = useSubmission()
  const key = useKey()
  // Kept until an answer tells: what may have been done is not done twice.
  const idempotency_key = useRef(newExternalId())
  const is_unknown = useRef(false)
  if (is_stream) return <p>{say('reference.programs_only')}</p>
  const asks_key = !is_public && !session.value
  const call = is_public || asks_key ? key.call : exchange
  const send = () =>
    submission.run(async () => {
      const parsed = JSON.parse(body) as { external_id?: unknown } | null
      const adds_id = takes_idempotency_key && parsed?.external_id === undefined
      const options = adds_id ? { idempotency_key: idempotency_key.current } : {}
      answer.value = undefined
      const said = await call(endpoint.path, parsed, options)
      is_unknown.current = isUnknown(is_unknown.current, said.code)
      if (!is_unknown.current) idempotency_key.current = newExternalId()
      answer.value = said
      is_understood.value = false
    })
  const why_off = whyOff({
    is_json,
    has_key: !asks_key || key.is_whole,
    is_understood: !changes || is_understood.value,
  })
  return (
    <>
      <Form onSubmit={() => void send()}>
        {asks_key && <KeyFields typed={key} />}
        {changes && (
          <CheckField
            label={say('reference.understood')}
            is_on={is_understood.value}
            onCheck={(is_on) => {
              is_understood.value = is_on
            }}
          />
        )}
        <Submit is_busy={submission.is_busy.value} off={why_off}>
          {say('reference.send')}
        </Submit>
      </Form>
      <div role="status">{answer.value && <Said answer={answer.value} />}</div>
    </>
  )
}

type Ready = { is_json: boolean; has_key: boolean; is_understood: boolean }

function whyOff({ is_json, has_key, is_understood }: Ready): string | undefined {
  if (!is_json) return say('reference.not_json')
  if (!has_key) return say('reference.needs_key')
  return is_understood ? undefined : say('reference.changes')
}

const Said = ({ answer }: { answer: Envelope }) =>
  answer.code === NOT_ANSWERED ? (
    <p class="note warn">{say('reference.not_answered')}</p>
  ) : (
    <div class={answer.code === 0 ? 'note good' : 'note bad'}>
      <p>{say(answer.code === 0 ? 'reference.done' : 'reference.refused')}</p>
      <JsonText value={answer} what={say('reference.reply')} />
    </div>
  )
