// What is done to users, each in a dialog over the list. A link is shown once.

import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { ask } from '../../shared/calls/ask.ts'
import { useSubmission } from '../../shared/calls/submission.ts'
import { toast } from '../../shared/frame/toasts.tsx'
import { FaultNote } from '../../shared/parts/answer.tsx'
import { Dialog } from '../../shared/parts/dialog.tsx'
import {
  ChoiceField,
  Form,
  LinesField,
  linesOf,
  namedChoices,
  Submit,
  TextField,
} from '../../shared/parts/field.tsx'
import { isSum } from '../../shared/parts/money.tsx'
import { ShownOnce } from '../../shared/secrets/shown_once.tsx'
import { useWithMade, WithMade } from '../../shared/users/made.tsx'
import { CUSTOMER_ROLES, type CustomerRole } from '../../shared/users/user.ts'
import { say } from '../../shared/words/words.ts'
import { receiversField } from '../keys/receivers.ts'
import type { User } from './user.ts'

type DialogProps = { onDone: () => void; onClose: () => void }
type SubjectProps = DialogProps & { user: User }

type QuestionProps = {
  title: string
  submit: string
  /** Does it. */
  act: () => Promise<unknown>
  /** Why it cannot be done yet. */
  off?: string | undefined
  /** It cannot be taken back. */
  is_danger?: boolean
  onClose: () => void
  children: ComponentChildren
}

/** A dialog that does one thing. */
function ActDialog({ title, submit, act, off, is_danger, onClose, children }: QuestionProps) {
  const submission = useSubmission()
  const { value: fault } = submission.fault
  return (
    <Dialog title={title} onClose={onClose}>
      <Form onSubmit={() => void submission.run(act)} wrong={fault && <FaultNote fault={fault} />}>
        {children}
        <Submit is_busy={submission.is_busy.value} off={off} kind={is_danger ? 'danger' : 'main'}>
          {submit}
        </Submit>
      </Form>
    </Dialog>
  )
}

/** What is chosen of a user. */
function useUserFields(user?: User) {
  const name = useSignal(user?.name ?? '')
  const role = useSignal((user?.role ?? CUSTOMER_ROLES[0]) as CustomerRole)
  const before = user?.daily_cap ?? null
  const cap = useSignal(before === null ? '' : String(before))
  const bound = useSignal(user?.receivers?.join('\n') ?? '')
  const cap_wrong = cap.value === '' || isSum(cap.value) ? undefined : say('wrong.sum')
  const fields = (
    <>
      <TextField
        label={say('key.name')}
        value={name.value}
        onText={(text) => {
          name.value = text
        }}
      />
      <ChoiceField
        label={say('settings.role')}
        value={role.value}
        choices={namedChoices('role', CUSTOMER_ROLES)}
        onChoice={(value) => {
          role.value = value as CustomerRole
        }}
      />
      <TextField
        label={say('key.cap')}
        hint={say('key.cap_hint')}
        inputMode="decimal"
        wrong={cap_wrong}
        value={cap.value}
        onText={(text) => {
          cap.value = text.trim()
        }}
      />
      <LinesField
        label={say('key.receivers')}
        hint={say('user.receivers_hint')}
        value={bound.value}
        onText={(text) => {
          bound.value = text
        }}
      />
    </>
  )
  const body = {
    name: name.value.trim(),
    role: role.value,
    ...(cap.value !== '' && { daily_cap: Number(cap.value) }),
    // Taken away only where there was one: who asks may have a cap, and can give none without.
    ...(cap.value === '' && before !== null && { daily_cap: 'none' }),
    ...receiversField(linesOf(bound.value), user?.receivers ?? null),
  }
  const off = body.name === '' ? say('key.name_missing') : cap_wrong
  return { fields, body, off }
}

type LinkDialogProps = { name: string; link: string; onClose: () => void }

const LinkDialog = ({ name, link, onClose }: LinkDialogProps) => (
  <Dialog title={say('user.link_title', { name })} onClose={onClose}>
    <p>{say('user.link_sentence')}</p>
    <ShownOnce texts={[{ name: say('user.link'), text: link }]} />
  </Dialog>
)

export function InviteUser({ onDone, onClose }: DialogProps) {
  const { fields, body, off } = useUserFields()
  const link = useSignal<string | undefined>(undefined)
  if (link.value) return <LinkDialog name={body.name} link={link.value} onClose={onClose} />
  const invite = async () => {
    const said = await ask('/v1/user/invite', body)
    link.value = said.link
    onDone()
  }
  return (
    <ActDialog
      title={say('user.invite')}
      submit={say('user.invite_do')}
      act={invite}
      off={off}
      onClose={onClose}
    >
      {fields}
    </ActDialog>
  )
}

export function ChangeUser({ user, onDone, onClose }: SubjectProps) {
  const { fields, body, off } = useUserFields(user)
  const change = async () => {
    await ask('/v1/user/change', { id: user.id, ...body })
    toast(say('user.changed', { name: body.name }))
    onDone()
    onClose()
  }
  return (
    <ActDialog
      title={say('user.change_title', { name: user.name })}
      submit={say('save')}
      act={change}
      off={off}
      onClose={onClose}
    >
      {fields}
    </ActDialog>
  )
}

export function NewLink({ user, onDone, onClose }: SubjectProps) {
  const { id, name } = user
  const link = useSignal<string | undefined>(undefined)
  if (link.value) return <LinkDialog name={name} link={link.value} onClose={onClose} />
  const recover = async () => {
    const said = await ask('/v1/user/recover', { id })
    link.value = said.link
    onDone()
  }
  return (
    <ActDialog
      title={say('user.new_link_title', { name })}
      submit={say('user.new_link')}
      act={recover}
      onClose={onClose}
    >
      <p>{say('user.new_link_sentence')}</p>
    </ActDialog>
  )
}

export function RemoveUser({ user, onDone, onClose }: SubjectProps) {
  const { id, name } = user
  const with_made = useWithMade()
  const remove = async () => {
    await ask('/v1/user/remove', { id, with_made: with_made.value })
    toast(say('user.removed', { name }))
    onDone()
    onClose()
  }
  return (
    <ActDialog
      title={say('user.remove_title', { name })}
      submit={say('user.remove')}
      act={remove}
      is_danger
      onClose={onClose}
    >
      <p>{say('user.remove_sentence')}</p>
      <WithMade id={id} chosen={with_made} />
    </ActDialog>
  )
}
