// Lets somebody sign in: a link that works once, shown once to the operator who hands it over.

import { useSignal } from '@preact/signals'
import { ChoiceField, namedChoices, TextField } from '../../shared/parts/field.tsx'
import { ShownOnce } from '../../shared/secrets/shown_once.tsx'
import { say } from '../../shared/words/words.ts'
import { ReasonDialog } from './reason.tsx'

/** What an invite answers, and whom it is for. */
export type UserInvite = { name: string; link: string }

export type InviteProps = {
  /** Lets a person of this name and role in. Throws a Fault. */
  act: (person: { name: string; role: string; reason: string }) => Promise<{ link: string }>
  /** The first one is what is usual. */
  roles: readonly string[]
  onClose: () => void
  onDone: (invited: UserInvite) => void
}

export function Invite({ act, roles, onClose, onDone }: InviteProps) {
  const name = useSignal('')
  const role = useSignal(roles[0]!)
  return (
    <ReasonDialog
      title={say('invite')}
      act={(reason) => act({ name: name.value.trim(), role: role.value, reason })}
      off={name.value.trim() === '' ? say('invite.needed') : undefined}
      onClose={onClose}
      onDone={({ link }) => onDone({ name: name.value.trim(), link })}
    >
      <TextField
        label={say('invite.name')}
        value={name.value}
        onText={(text) => {
          name.value = text
        }}
      />
      <ChoiceField
        label={say('role')}
        value={role.value}
        choices={namedChoices('role', roles)}
        onChoice={(value) => {
          role.value = value
        }}
      />
    </ReasonDialog>
  )
}

/** The link of an invite, whole. That of an operator begins where the console is. */
export const InviteLink = ({ name, link }: UserInvite) => (
  <ShownOnce
    texts={[{ name: say('invite.link', { name }), text: new URL(link, location.origin).href }]}
  />
)
