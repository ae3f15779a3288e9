// The same call for programs: as code, and signed with a secret that is typed here. The secret
// stays in the page: it is neither sent nor kept, and none of the code has it in it.

import { useSignal } from '@preact/signals'
import { signer } from 'penstock-sdk'
import { shellText } from '../../shared/calls/shell.ts'
import { useSubmission } from '../../shared/calls/submission.ts'
import { Copy } from '../../shared/parts/address.tsx'
import { FaultNote } from '../../shared/parts/answer.tsx'
import { CodeSamples } from '../../shared/parts/code.tsx'
import { Form, TextField } from '../../shared/parts/field.tsx'
import { say } from '../../shared/words/words.ts'

type Headers = Awaited<ReturnType<ReturnType<typeof signer>>>
type Call = { path: string; body: string }

export function CallAsCode({ path, body, is_json }: Call & { is_json: boolean }) {
  if (!is_json) return null
  const value = JSON.parse(body) as unknown
  const line = JSON.stringify(value)
  return (
    <>
      <CodeSamples
        call={{ path, body: value }}
        sdk={`penstock.call('${path}', ${JSON.stringify(value, null, 2)})`}
        cli={`penstock call ${path} ${shellText(line)}`}
      />
      <SignedCall path={path} body={line} />
    </>
  )
}

/** What was signed, since both can change afterwards. */
type SignedCallState = Call & { headers: Headers }

function SignedCall({ path, body }: Call) {
  const secret = useSignal('')
  const signed = useSignal<SignedCallState | undefined>(undefined)
  const submission = useSubmission()
  const { value: fault } = submission.fault
  const sign = () =>
    submission.run(async () => {
      const stamp = { path, body, now_ms: Date.now(), idempotency_key: undefined }
      const headers = await signer('', secret.value.trim())(stamp)
      signed.value = { path, body, headers }
    })
  const shown = signed.value?.body === body ? signed.value : undefined
  return (
    <details class="code">
      <summary>{say('reference.signed')}</summary>
      <p>{say('reference.signed_sentence')}</p>
      <Form onSubmit={() => void sign()} wrong={fault && <FaultNote fault={fault} />}>
        <TextField
          label={say('key.secret')}
          type="password"
          value={secret.value}
          onText={(text) => {
            secret.value = text
            signed.value = undefined
          }}
        />
        <p class="actions">
          <button type="submit" disabled={secret.value.trim() === ''}>
            {say('reference.sign')}
          </button>
        </p>
      </Form>
      <div role="status">
        {shown && (
          <>
            <Lines title={say('reference.first_signature')} text={curl(shown, FIRST)} />
            <Lines title={say('reference.second_signature')} text={curl(shown, BOTH)} />
          </>
        )}
      </div>
    </details>
  )
}

const Lines = ({ title, text }: { title: string; text: string }) => (
  <>
    <h3>{title}</h3>
    <p class="actions">
      <Copy text={text} what={title} />
    </p>
    <pre tabIndex={0} aria-label={title}>
      <code>{text}</code>
    </pre>
  </>
)

type Names = readonly (readonly [name: string, key: keyof Headers])[]
const FIRST: Names = [['X-Signature', 'x-signature']]
const BOTH: Names = [
  ...FIRST,
  ['X-Timestamp', 'x-timestamp'],
  ['X-Nonce', 'x-nonce'],
  ['X-Signature-V2', 'x-signature-v2'],
]

/** Lines for `sh`. The token stays in the environment, and out of the arguments of programs. */
const curl = ({ path, body, headers }: SignedCallState, names: Names): string =>
  [
    `printf 'Authorization: Bearer %s\\n' "$PENSTOCK_TOKEN" |`,
    `  curl -s ${location.origin}${path} -H @- -H 'Content-Type: application/json' \\`,
    ...names.map(([name, key]) => `    -H '${name}: ${headers[key]}' \\`),
    `    --data-binary ${shellText(body)}`,
  ].join('\n')
