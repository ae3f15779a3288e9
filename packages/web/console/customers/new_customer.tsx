// A new customer with its first owner, whose link is handed over.

import { useSignal } from '@preact/signals'
import { TextField } from '../../shared/parts/field.tsx'
import { say } from '../../shared/words/words.ts'
import { run } from '../calls/calls.ts'
import type { UserInvite } from '../calls/invite.tsx'
import { ReasonDialog } from '../calls/reason.tsx'

export type NewCustomerInvite = UserInvite & { id: string }

export type NewCustomerProps = { onClose: () => void; onDone: (made: NewCustomerInvite) => void }

export function NewCustomer({ onClose, onDone }: NewCustomerProps) {
  const name = useSignal('')
  const owner = useSignal('')
  // Kept when the invite was refused: another try makes no second customer.
  const customer_id = useSignal<string | undefined>(undefined)
  const act = async (reason: string): Promise<NewCustomerInvite> => {
    const given = { name: name.value.trim(), reason }
    customer_id.value ??= (await run('customers create', given)).id
    const id = customer_id.value
    // As the page of a customer says it: a second operator has allowed the same then.
    const invite = { customer: id, name: owner.value.trim(), role: 'owner' as const, reason }
    const { link } = await run('users invite', invite)
    return { id, name: invite.name, link }
  }
  const is_complete = name.value.trim() !== '' && owner.value.trim() !== ''
  return (
    <ReasonDialog
      title={say('customer.new')}
      act={act}
      off={is_complete ? undefined : say('customer.names_needed')}
      onClose={onClose}
      onDone={onDone}
    >
      {customer_id.value === undefined ? (
        <TextField
          label={say('customer.name')}
          value={name.value}
          onText={(text) => {
            name.value = text
          }}
        />
      ) : (
        <p>{say('customer.made', { name: name.value.trim() })}</p>
      )}
      <TextField
        label={say('customer.owner')}
        hint={say('customer.owner.hint')}
        value={owner.value}
        onText={(text) => {
          owner.value = text
        }}
      />
    </ReasonDialog>
  )
}
