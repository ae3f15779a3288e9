// What is done to keys, each in a dialog over the list. Token and secret are shown once.

import { useSignal } from '@preact/signals'
import type { Result } from 'penstock-sdk'
import { ask } from '../../shared/calls/ask.ts'
import { envText, shellText } from '../../shared/calls/shell.ts'
import { useSubmission } from '../../shared/calls/submission.ts'
import { toast } from '../../shared/frame/toasts.tsx'
import { Copy } from '../../shared/parts/address.tsx'
import { FaultNote } from '../../shared/parts/answer.tsx'
import { CodeSamples } from '../../shared/parts/code.tsx'
import { Dialog } from '../../shared/parts/dialog.tsx'
import { CheckField, Form, Submit } from '../../shared/parts/field.tsx'
import { Rotation } from '../../shared/secrets/rotation.tsx'
import { ShownOnce } from '../../shared/secrets/shown_once.tsx'
import { useWithMade, WithMade } from '../../shared/users/made.tsx'
import { say } from '../../shared/words/words.ts'
import type { Key } from './key.ts'
import { KeyFieldsView, useKeyFields } from './key_form.tsx'

type DialogProps = { onDone: () => void; onClose: () => void }
type SubjectProps = DialogProps & { subject: Key }

export function NewKey({ onDone, onClose }: DialogProps) {
  const fields = useKeyFields()
  const made = useSignal<Result<'/v1/key/new'> | undefined>(undefined)
  const was_sent = useSignal(false)
  const submission = useSubmission()
  const is_wrong = Object.keys(fields.wrong).length > 0
  const make = () => {
    was_sent.value = true
    if (is_wrong) return
    void submission.run(async () => {
      made.value = await ask('/v1/key/new', fields.body)
      onDone()
    })
  }
  const { value } = made
  if (value)
    return (
      <Dialog title={say('key.made', { name: value.key.name })} onClose={onClose}>
        <MadeKey made={value} />
      </Dialog>
    )
  const { name, scopes, require_v2, require_external_id } = fields.body
  const careful = `${require_v2 ? ' --require-v2' : ''}${
    require_external_id ? ' --require-external-id' : ''
  }`
  return (
    <Dialog title={say('key.new')} onClose={onClose}>
      <Form
        onSubmit={make}
        wrong={submission.fault.value && <FaultNote fault={submission.fault.value} />}
      >
        <KeyFieldsView fields={fields} shows_wrong={was_sent.value} />
        <Submit is_busy={submission.is_busy.value}>{say('key.create')}</Submit>
        <CodeSamples
          sdk={`penstock.keys.create(${JSON.stringify(fields.body, null, 2)})`}
          cli={`penstock keys create ${shellText(name)} --scopes ${scopes.join(',')}${careful}`}
        />
      </Form>
    </Dialog>
  )
}

/** A key that was just made, and a first call with it: as it stands, since this is the one time
 *  that its secret is known here. */
function MadeKey({ made: { key, token, secret } }: { made: Result<'/v1/key/new'> }) {
  const access = { token, secret }
  return (
    <ShownOnce
      texts={[
        { name: say('key.token'), text: token },
        { name: say('key.secret'), text: secret },
      ]}
    >
      <p>
        {say('key.env')} <Copy text={envText(location.origin, access)} what={say('key.env')} />
      </p>
      <CodeSamples
        title={say('key.try')}
        call={{
          path: '/v1/whoami',
          body: {},
          access,
          second_signature: key.require_v2,
        }}
        sdk="penstock.whoami()"
        cli="penstock login && penstock doctor"
      />
    </ShownOnce>
  )
}

export function ChangeKey({ subject, onDone, onClose }: SubjectProps) {
  const fields = useKeyFields(subject)
  const submission = useSubmission()
  const is_wrong = Object.keys(fields.wrong).length > 0
  const change = async () => {
    if (is_wrong) return
    const went_well = await submission.run(() =>
      ask('/v1/key/change', { id: subject.id, ...fields.body }),
    )
    if (!went_well) return
    toast(say('key.changed', { name: fields.body.name }))
    onDone()
    onClose()
  }
  return (
    <Dialog title={say('key.change_title', { name: subject.name })} onClose={onClose}>
      <Form
        onSubmit={change}
        wrong={submission.fault.value && <FaultNote fault={submission.fault.value} />}
      >
        <KeyFieldsView fields={fields} shows_wrong />
        <Submit is_busy={submission.is_busy.value}>{say('save')}</Submit>
      </Form>
    </Dialog>
  )
}

export function RotateKey({ subject, onDone, onClose }: SubjectProps) {
  const { id, name } = subject
  return (
    <Rotation
      title={say('key.rotate_title', { name })}
      rotate={async (overlap_hours) => {
        const { secret } = await ask('/v1/key/rotate', { id, overlap_hours })
        onDone()
        return secret
      }}
      samples={(hours) => ({
        sdk: `penstock.keys.rotate(${JSON.stringify({ id, overlap_hours: hours })})`,
        cli: `penstock keys rotate ${id} --overlap-hours ${hours}`,
      })}
      onClose={onClose}
    />
  )
}

export function RevokeKey({ subject, onDone, onClose }: SubjectProps) {
  const { id, name } = subject
  const keeps = useSignal(false)
  const with_made = useWithMade()
  const submission = useSubmission()
  const revoke = async () => {
    const kept = keeps.value && { keep_subscriptions: true }
    const body = { id, with_made: with_made.value, ...kept }
    if (!(await submission.run(() => ask('/v1/key/revoke', body)))) return
    toast(say('key.was_revoked', { name }))
    onDone()
    onClose()
  }
  return (
    <Dialog title={say('key.revoke_title', { name })} onClose={onClose}>
      <p>{say('key.revoke_sentence')}</p>
      <Form
        onSubmit={revoke}
        wrong={submission.fault.value && <FaultNote fault={submission.fault.value} />}
      >
        <WithMade id={id} chosen={with_made} />
        <CheckField
          label={say('key.keep_subscriptions')}
          is_on={keeps.value}
          onCheck={(is_on) => {
            keeps.value = is_on
          }}
        />
        <Submit is_busy={submission.is_busy.value} kind="danger">
          {say('key.revoke')}
        </Submit>
        <CodeSamples
          sdk={`penstock.keys.revoke(${JSON.stringify({ id, with_made: with_made.value })})`}
          cli={`penstock keys revoke ${id}${with_made.value ? ' --with-made' : ''}`}
        />
      </Form>
    </Dialog>
  )
}
