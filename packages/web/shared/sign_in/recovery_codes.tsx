// Codes for when phone and passkey are gone. They are shown until one says that they are kept: to
// write ten of them down takes its time.

import { useSignal } from '@preact/signals'
import { Copy } from '../parts/address.tsx'
import { CheckField, Form, Submit } from '../parts/field.tsx'
import { say } from '../words/words.ts'

export type RecoveryCodesProps = { codes: readonly string[]; onKept: () => void }

export function RecoveryCodes({ codes, onKept }: RecoveryCodesProps) {
  const are_kept = useSignal(false)
  return (
    <div class="stack narrow">
      <h2>{say('recovery.codes')}</h2>
      <p>{say('recovery.why')}</p>
      <ul class="recovery-codes">
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ul>
      <p>
        <Copy text={codes.join('\n')} what={say('recovery.codes')} />
      </p>
      <Form
        onSubmit={() => {
          if (are_kept.value) onKept()
        }}
      >
        <CheckField
          label={say('recovery.kept')}
          is_on={are_kept.value}
          onCheck={(is_on) => {
            are_kept.value = is_on
          }}
        />
        <Submit off={are_kept.value ? undefined : say('recovery.keep_first')}>
          {say('recovery.go_on')}
        </Submit>
      </Form>
    </div>
  )
}
