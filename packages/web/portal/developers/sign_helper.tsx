// What a body is signed with, computed here: to compare with what one's own program computes.
// Nothing that is typed leaves the page.

import { useSignal } from '@preact/signals'
import { signer } from 'penstock-sdk'
import { useSubmission } from '../../shared/calls/submission.ts'
import { LongText } from '../../shared/parts/address.tsx'
import { FaultNote } from '../../shared/parts/answer.tsx'
import { Form, LinesField, TextField } from '../../shared/parts/field.tsx'
import { Facts } from '../../shared/parts/table.tsx'
import { say } from '../../shared/words/words.ts'

type SignatureHeaders = Awaited<ReturnType<ReturnType<typeof signer>>>

export function SignHelper() {
  const path = useSignal('/v1/balance')
  const body = useSignal('{}')
  const secret = useSignal('')
  const signed = useSignal<SignatureHeaders | undefined>(undefined)
  const submission = useSubmission()
  const compute = () =>
    submission.run(async () => {
      const sign = signer('', secret.value.trim())
      signed.value = await sign({
        path: path.value.trim(),
        body: body.value,
        now_ms: Date.now(),
        idempotency_key: undefined,
      })
    })
  return (
    <details class="code">
      <summary>{say('sign')}</summary>
      <p>{say('sign.sentence')}</p>
      <Form
        onSubmit={compute}
        wrong={submission.fault.value && <FaultNote fault={submission.fault.value} />}
      >
        <TextField
          label={say('refusal.path')}
          value={path.value}
          onText={(text) => {
            path.value = text
          }}
        />
        <LinesField
          label={say('sign.body')}
          hint={say('sign.body_hint')}
          value={body.value}
          onText={(text) => {
            body.value = text
          }}
        />
        <TextField
          label={say('key.secret')}
          type="password"
          value={secret.value}
          onText={(text) => {
            secret.value = text
          }}
        />
        <p class="actions">
          <button type="submit">{say('sign.compute')}</button>
        </p>
      </Form>
      <div role="status">{signed.value && <SignedHeaders signed={signed.value} />}</div>
    </details>
  )
}

const HEADERS = [
  ['X-Signature', 'x-signature'],
  ['X-Timestamp', 'x-timestamp'],
  ['X-Nonce', 'x-nonce'],
  ['X-Signature-V2', 'x-signature-v2'],
] as const

const SignedHeaders = ({ signed }: { signed: SignatureHeaders }) => (
  <Facts
    facts={HEADERS.map(([name, key]) => [
      name,
      <LongText key={name} text={signed[key]} what={name} whole />,
    ])}
  />
)
