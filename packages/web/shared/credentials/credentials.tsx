// What one signs in with: passkeys, a password with the codes of a phone, codes on paper. Each
// change asks for a proof of presence, ends one's other sessions unless that is taken back (a new
// password always does), and one way in always stays.

import { type Signal, useSignal } from '@preact/signals'
import { post } from '../calls/ask.ts'
import { usePosted } from '../calls/question.ts'
import { beginning, forgetSession, session } from '../calls/session.ts'
import { useSubmission } from '../calls/submission.ts'
import { toast } from '../frame/toasts.tsx'
import { Answer, FaultNote } from '../parts/answer.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { CheckField, Form, Submit, TextField } from '../parts/field.tsx'
import { State } from '../parts/state.tsx'
import { Table } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { RecoveryCodes } from '../sign_in/recovery_codes.tsx'
import { nameText } from '../words/name.ts'
import { say } from '../words/words.ts'
import { NewPassword } from './new_password.tsx'

type Passkey = {
  id: string
  name: string
  made_at: string
  used_at: string | null
  /** Its counter went back: there are two of it. */
  off_at: string | null
}
type CredentialList = { passkeys: Passkey[]; password: boolean; recovery_codes: number }

type DialogState =
  | { what: 'password' }
  | { what: 'codes'; codes: readonly string[] }
  | { what: 'rename'; passkey: Passkey }

export function Credentials() {
  const question = usePosted<CredentialList>('/session/passkeys/list', {})
  const dialog = useSignal<DialogState | undefined>(undefined)
  const end_others = useSignal(true)
  const submission = useSubmission()
  const { value: fault } = submission.fault
  const close = () => {
    dialog.value = undefined
    void question.again()
  }
  const remove = ({ id, name }: Passkey) =>
    void submission.run(async () => {
      await post('/session/passkeys/remove', { id, end_others: end_others.value })
      toast(say('settings.passkey_removed', { name }))
      await question.again()
    })
  const makeCodes = () =>
    void submission.run(async () => {
      const said = await post<{ recovery_codes: readonly string[] }>('/session/recovery/new', {
        end_others: end_others.value,
      })
      dialog.value = { what: 'codes', codes: said.recovery_codes }
    })
  const endAll = () =>
    void submission.run(async () => {
      await post('/session/end', { everywhere: true })
      forgetSession()
    })
  return (
    <section class="panel">
      <h2>{say('settings.sign_in')}</h2>
      {fault && <FaultNote fault={fault} />}
      <Answer question={question} lines={6}>
        {({ passkeys, password, recovery_codes }) => (
          <div class="stack">
            <Passkeys
              passkeys={passkeys}
              onRename={(passkey) => {
                dialog.value = { what: 'rename', passkey }
              }}
              onRemove={remove}
              is_busy={submission.is_busy}
            />
            <NewPasskey onDone={question.again} end_others={end_others} />
            <p>{say(password ? 'settings.has_password' : 'settings.no_password')}</p>
            <p>{say('settings.codes_left', { n: recovery_codes })}</p>
            <CheckField
              label={say('settings.end_others')}
              is_on={end_others.value}
              onCheck={(is_on) => {
                end_others.value = is_on
              }}
            />
            <p class="actions">
              <PasswordButton
                onPress={() => {
                  dialog.value = { what: 'password' }
                }}
              />
              <button type="button" disabled={submission.is_busy.value} onClick={makeCodes}>
                {say('settings.codes_new')}
              </button>
              <button type="button" disabled={submission.is_busy.value} onClick={endAll}>
                {say('settings.end_all')}
              </button>
            </p>
          </div>
        )}
      </Answer>
      {dialog.value?.what === 'password' && <NewPassword onClose={close} />}
      {dialog.value?.what === 'rename' && (
        <RenamePasskey passkey={dialog.value.passkey} onClose={close} />
      )}
      {dialog.value?.what === 'codes' && (
        <Dialog title={say('settings.codes_new')} onClose={close}>
          <RecoveryCodes codes={dialog.value.codes} onKept={close} />
        </Dialog>
      )}
    </section>
  )
}

/** A user who came by a link of a sandbox has no name that a password could belong to. */
function PasswordButton({ onPress }: { onPress: () => void }) {
  if (session.value?.user.sign_in_name === null) return null
  return (
    <button type="button" onClick={onPress}>
      {say('settings.password_new')}
    </button>
  )
}

function RenamePasskey({ passkey, onClose }: { passkey: Passkey; onClose: () => void }) {
  const name = useSignal(passkey.name)
  const submission = useSubmission()
  const { value: fault } = submission.fault
  const rename = async () => {
    const change = { id: passkey.id, name: name.value.trim() }
    if (await submission.run(() => post('/session/passkeys/rename', change))) onClose()
  }
  return (
    <Dialog title={say('settings.passkey_rename', { name: passkey.name })} onClose={onClose}>
      <Form onSubmit={rename} wrong={fault && <FaultNote fault={fault} />}>
        <TextField
          label={say('settings.name')}
          value={name.value}
          onText={(text) => {
            name.value = text
          }}
        />
        <Submit is_busy={submission.is_busy.value}>{say('save')}</Submit>
      </Form>
    </Dialog>
  )
}

type PasskeysProps = {
  passkeys: readonly Passkey[]
  onRename: (passkey: Passkey) => void
  onRemove: (passkey: Passkey) => void
  is_busy: Signal<boolean>
}

function Passkeys({ passkeys, onRename, onRemove, is_busy }: PasskeysProps) {
  if (passkeys.length === 0) return <p>{say('settings.no_passkey')}</p>
  const small = (
    word: 'settings.rename' | 'settings.remove',
    passkey: Passkey,
    press: (passkey: Passkey) => void,
  ) => (
    <button
      type="button"
      class="small"
      disabled={is_busy.value}
      aria-label={`${say(word)} ${passkey.name}`}
      onClick={() => press(passkey)}
    >
      {say(word)}
    </button>
  )
  return (
    <Table<Passkey>
      caption={say('settings.passkeys')}
      rows={passkeys}
      keyOf={({ id }) => id}
      columns={[
        {
          title: say('settings.name'),
          cell: ({ name, off_at }) => (
            <>
              {nameText(name)} {off_at !== null && <State state="off" mark="failed" />}
            </>
          ),
        },
        { title: say('settings.made'), cell: ({ made_at }) => <Time at={made_at} /> },
        {
          title: say('settings.used'),
          cell: ({ used_at }) => (used_at === null ? '–' : <Time at={used_at} relative />),
        },
        {
          title: say('settings.change'),
          cell: (passkey) => (
            <span class="actions">
              {small('settings.rename', passkey, onRename)}
              {small('settings.remove', passkey, onRemove)}
            </span>
          ),
        },
      ]}
    />
  )
}

type NewPasskeyProps = { onDone: () => Promise<void>; end_others: Signal<boolean> }

function NewPasskey({ onDone, end_others }: NewPasskeyProps) {
  const name = useSignal('')
  const submission = useSubmission()
  const { value: fault } = submission.fault
  if (beginning.value?.passkeys_possible !== true)
    return <p class="note warn">{beginning.value?.why_not}</p>
  const make = () =>
    void submission.run(async () => {
      const { makePasskey } = await import('../calls/presence.ts')
      const { user } = session.value!
      const { options } = await post<{ options: unknown }>('/session/passkeys/new', {})
      const passkey = await makePasskey(options, user.sign_in_name ?? user.name)
      const called = name.value.trim()
      const given = { passkey, ...(called !== '' && { name: called }) }
      await post('/session/passkeys/new', { ...given, end_others: end_others.value })
      name.value = ''
      toast(say('settings.passkey_added'))
      await onDone()
    })
  return (
    <Form onSubmit={make} wrong={fault && <FaultNote fault={fault} />}>
      <TextField
        label={say('settings.passkey_name')}
        hint={say('settings.passkey_hint')}
        value={name.value}
        onText={(text) => {
          name.value = text
        }}
      />
      <Submit is_busy={submission.is_busy.value}>{say('settings.passkey_add')}</Submit>
    </Form>
  )
}
