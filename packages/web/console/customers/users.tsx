// Who signs in for a customer, and letting somebody in.

import { useSignal } from '@preact/signals'
import { CUSTOMER_ROLES } from '../../shared/users/user.ts'
import { say } from '../../shared/words/words.ts'
import { type Body, mayChange, run, useRun } from '../calls/calls.ts'
import { Invite, InviteLink, type UserInvite } from '../calls/invite.tsx'
import { personColumns } from '../calls/people.tsx'
import { Rows } from '../calls/rows.tsx'
import { UserData } from './personal.tsx'

/** A customer's first user is its owner. */
const ROLES = CUSTOMER_ROLES.toReversed()

export function Users({ customer, is_closed }: { customer: string; is_closed: boolean }) {
  const users = useRun('users list', { customer, limit: 100 })
  const is_open = useSignal(false)
  const invited = useSignal<UserInvite | undefined>(undefined)
  return (
    <section class="stack">
      <Rows
        question={users}
        none={say('customer.no_users')}
        caption={say('customer.users')}
        caption_shown
        keyOf={({ id }) => id}
        columns={[
          ...personColumns(),
          {
            title: say('personal'),
            is_actions: true,
            cell: ({ id, name, ended_at }) => (
              <UserData
                user={id}
                name={name}
                is_out={ended_at !== null}
                onDone={() => void users.again()}
              />
            ),
          },
        ]}
      />
      {invited.value && <InviteLink {...invited.value} />}
      <p class="actions">
        <button
          type="button"
          disabled={!mayChange() || is_closed}
          onClick={() => {
            is_open.value = true
          }}
        >
          {say('invite')}
        </button>
      </p>
      {is_open.value && (
        <Invite
          act={(person) => run('users invite', { customer, ...person } as Body<'users invite'>)}
          roles={ROLES}
          onClose={() => {
            is_open.value = false
          }}
          onDone={(one) => {
            invited.value = one
            void users.again()
          }}
        />
      )}
    </section>
  )
}
