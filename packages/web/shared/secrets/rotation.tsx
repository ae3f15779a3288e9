// A new secret in the place of one, of a key or of a webhook. Both are valid for a while, so that
// nothing pauses.

import { useSignal } from '@preact/signals'
import { useSubmission } from '../calls/submission.ts'
import { FaultNote } from '../parts/answer.tsx'
import { CodeSamples, type Samples } from '../parts/code.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { ChoiceField, Form, Submit } from '../parts/field.tsx'
import { say } from '../words/words.ts'
import { ShownOnce } from './shown_once.tsx'

/** For how long both are valid, in hours. */
const OVERLAPS = [0, 1, 24, 72, 168]
const USUAL_HOURS = 24

export type RotationProps = {
  title: string
  /** Answers the new secret. */
  rotate: (overlap_hours: number) => Promise<string>
  samples: (overlap_hours: number) => Samples
  onClose: () => void
}

export function Rotation({ title, rotate, samples, onClose }: RotationProps) {
  const hours = useSignal(USUAL_HOURS)
  const secret = useSignal<string | undefined>(undefined)
  const submission = useSubmission()
  const make = () =>
    submission.run(async () => {
      secret.value = await rotate(hours.value)
    })
  return (
    <Dialog title={title} onClose={onClose}>
      {secret.value !== undefined ? (
        <ShownOnce texts={[{ name: say('key.secret'), text: secret.value }]} />
      ) : (
        <Form
          onSubmit={make}
          wrong={submission.fault.value && <FaultNote fault={submission.fault.value} />}
        >
          <ChoiceField
            label={say('rotate.overlap')}
            hint={say('rotate.overlap_hint')}
            value={String(hours.value)}
            choices={OVERLAPS.map((n) => ({ value: String(n), text: say('rotate.hours', { n }) }))}
            onChoice={(value) => {
              hours.value = Number(value)
            }}
          />
          <Submit is_busy={submission.is_busy.value}>{say('key.rotate')}</Submit>
          <CodeSamples {...samples(hours.value)} />
        </Form>
      )}
    </Dialog>
  )
}
