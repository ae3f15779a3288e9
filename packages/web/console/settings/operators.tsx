// Who signs in at the console: invited, given a new link, taken out by admins.

import { useSignal } from '@preact/signals'
import { session } from '../../shared/calls/session.ts'
import { Block } from '../../shared/parts/block.tsx'
import { say } from '../../shared/words/words.ts'
import { type Body, isAdmin, run, useRun } from '../calls/calls.ts'
import { Invite, InviteLink, type UserInvite } from '../calls/invite.tsx'
import { type Person, personColumns } from '../calls/people.tsx'
import { ReasonButton } from '../calls/reason_button.tsx'
import { Rows } from '../calls/rows.tsx'

const ROLES = ['auditor', 'operator', 'admin']

export function Operators() {
  const operators = useRun('operators list', { limit: 100 })
  const invited = useSignal<UserInvite | undefined>(undefined)
  const again = () => void operators.again()
  const show = (invite: UserInvite) => {
    invited.value = invite
    again()
  }
  return (
    <Block
      title={say('operators')}
      why={say('operators.why')}
      action={<InviteButton onDone={show} />}
    >
      <Rows
        question={operators}
        none={say('none')}
        caption={say('operators')}
        keyOf={({ id }) => id}
        columns={[
          ...personColumns(),
          {
            title: say('do'),
            cell: (person) => <Changes person={person} onLink={show} onDone={again} />,
          },
        ]}
      />
      {invited.value && <InviteLink {...invited.value} />}
    </Block>
  )
}

function InviteButton({ onDone }: { onDone: (invited: UserInvite) => void }) {
  const is_open = useSignal(false)
  return (
    <>
      <button
        type="button"
        disabled={!isAdmin()}
        {...(!isAdmin() && { title: say('operators.admin_needed') })}
        onClick={() => {
          is_open.value = true
        }}
      >
        {say('operators.invite')}
      </button>
      {is_open.value && (
        <Invite
          act={(person) => run('operators invite', person as Body<'operators invite'>)}
          roles={ROLES}
          onClose={() => {
            is_open.value = false
          }}
          onDone={onDone}
        />
      )}
    </>
  )
}

type ChangesProps = {
  person: Person
  onLink: (invited: UserInvite) => void
  onDone: () => void
}

/** Nothing can be done to those who are out, and nobody takes out oneself. */
function Changes({ person: { id, name, ended_at }, onLink, onDone }: ChangesProps) {
  if (ended_at !== null || id === session.value?.user.id) return null
  const common = { about: name, body: { user: id }, for_admins: true }
  return (
    <span class="actions">
      <ReasonButton
        {...common}
        text={say('operators.recover')}
        words="operators recover"
        onDone={({ link }) => onLink({ name, link })}
      >
        <p>{say('operators.recover.sentence', { name })}</p>
      </ReasonButton>
      <ReasonButton
        {...common}
        text={say('operators.remove')}
        words="operators remove"
        onDone={onDone}
      >
        <p>{say('operators.remove.sentence', { name })}</p>
      </ReasonButton>
    </span>
  )
}
