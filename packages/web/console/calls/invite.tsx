// Lets somebody sign in: a link that works once, shown once to the operator who hands it over.

import { useSignal } from '@preact/signals'
import { ChoiceField, TextField } from '../../shared/parts/field.tsx'
import { ShownOnce } from '../../shared/secrets/shown_once.tsx'
import { named, say } from '../../shared/words/words.ts'
import { Reason } from './reason.tsx'

/** What an invite answers, and whom it is for. */
export type UserInvite = { name: string; link: string }

export type InviteProps = {
  /** `users invite` of a customer, or `operators invite`. */
  words: string
  options?: object
  /** The first one is what is usual. */
  roles: readonly string[]
  onClose: () => void
  onDone: (invited: UserInvite) => void
}

export function Invite({ words, options = {}, roles, onClose, onDone }: InviteProps) {
  const name = useSignal('')
  const role = useSignal(roles[0]!)
  return (
    <Reason<{ link: string }>
      title={say('invite')}
      words={words}
      options={{ ...options, name: name.value.trim(), role: role.value }}
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
        choices={roles.map((value) => ({ value, text: named('role', value) }))}
        onChoice={(value) => {
          role.value = value
        }}
      />
    </Reason>
  )
}

/** The link of an invite, whole. That of an operator begins where the console is. */
export const InviteLink = ({ name, link }: UserInvite) => (
  <ShownOnce
    texts={[{ name: say('invite.link', { name }), text: new URL(link, location.origin).href }]}
  />
)
