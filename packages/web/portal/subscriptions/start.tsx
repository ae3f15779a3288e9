// Starts to keep an address supplied, by a plan. What it costs stands above the form.

import { useSignal } from '@preact/signals'
import type { Result } from 'penstock-sdk'
import { useRef } from 'preact/hooks'
import { ask } from '../../shared/calls/ask.ts'
import { idsBy, newExternalId } from '../../shared/calls/ids.ts'
import { useSubmission } from '../../shared/calls/submission.ts'
import { Dialog } from '../../shared/parts/dialog.tsx'
import { CheckField, Form, Submit, TextField } from '../../shared/parts/field.tsx'
import { Money } from '../../shared/parts/money.tsx'
import { Facts } from '../../shared/parts/table.tsx'
import { named, say } from '../../shared/words/words.ts'
import { limitText } from './facts.tsx'
import { MoneyFault } from './money_fault.tsx'

export type Plan = Result<'/v1/subscriptions'>[string]
const ADDRESS = /^T[1-9A-HJ-NP-Za-km-z]{33}$/

type StartProps = { plan_key: string; plan: Plan; onDone: () => void; onClose: () => void }

export function StartSubscription({ plan_key, plan, onDone, onClose }: StartProps) {
  // The id belongs to what is asked for: trying again never starts it twice.
  const idOf = useRef(idsBy(newExternalId)).current
  const wish = useSignal({ address: '', activate_address: false })
  const wrong = useSignal<string | undefined>(undefined)
  const submission = useSubmission()
  const set = (change: { address: string } | { activate_address: boolean }) => {
    wish.value = { ...wish.value, ...change }
    wrong.value = undefined
  }
  const start = async () => {
    const params = wish.value
    wrong.value = ADDRESS.test(params.address) ? undefined : say('buy.wrong_address')
    if (wrong.value !== undefined) return
    const body = { subscription_id: plan_key, params, external_id: idOf(params) }
    if (!(await submission.run(() => ask('/v1/subscription/start', body)))) return
    onDone()
    onClose()
  }
  return (
    <Dialog title={named('said', plan.name)} onClose={onClose}>
      <Terms plan={plan} />
      <Form
        onSubmit={start}
        wrong={submission.fault.value && <MoneyFault fault={submission.fault.value} />}
      >
        <TextField
          label={say('order.address')}
          hint={say('buy.address_hint')}
          wrong={wrong.value}
          value={wish.value.address}
          onText={(text) => set({ address: text.trim() })}
        />
        <CheckField
          label={say('subscription.activate')}
          is_on={wish.value.activate_address}
          onCheck={(activate_address) => set({ activate_address })}
        />
        <Submit is_busy={submission.is_busy.value}>{say('subscription.start')}</Submit>
      </Form>
    </Dialog>
  )
}

const Terms = ({ plan }: { plan: Plan }) => (
  <Facts
    facts={[
      [say('subscription.initial_price'), <Money key="initial" trx={plan.initial_price} />],
      [say('subscription.price'), <Money key="price" trx={plan.price} />],
      [say('subscription.activation_fee'), <Money key="fee" trx={plan.activation_fee} />],
      [say('subscription.limit'), limitText(plan.transactions_limit)],
      [say('subscription.days'), limitText(plan.duration_days)],
    ]}
  />
)
