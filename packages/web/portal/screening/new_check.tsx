// Screens an address or a transaction. What it costs is said before. The id of the call is made
// with what is asked for, so that neither a second click nor trying again is charged twice.

import { useSignal } from '@preact/signals'
import type { Body } from 'penstock-sdk'
import { useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { ask } from '../../shared/calls/ask.ts'
import { idsBy } from '../../shared/calls/ids.ts'
import { useQuestion } from '../../shared/calls/question.ts'
import { useSubmission } from '../../shared/calls/submission.ts'
import { Answer } from '../../shared/parts/answer.tsx'
import { ChoiceField, Form, Submit, TextField } from '../../shared/parts/field.tsx'
import { Money } from '../../shared/parts/money.tsx'
import { path } from '../../shared/paths/portal.ts'
import { say } from '../../shared/words/words.ts'
import { MoneyFault } from '../subscriptions/money_fault.tsx'

type Wish = {
  network: string
  /** An address, or the hash of a transaction. */
  subject: string
  /** Who received it, when it is a transaction. */
  receiver: string
  direction: 'deposit' | 'withdrawal'
}

/** Those that the wire knows; the service refuses what nobody screens for it. */
const NETWORKS = ['TRX', 'BTC', 'LTC', 'ETH', 'ETC', 'BSC', 'MATIC', 'XRP', 'ADA', 'XLM']
const HASH = /^(0x)?[0-9a-fA-F]{64}$/

const isHash = ({ subject }: Wish) => HASH.test(subject)

function bodyOf(wish: Wish): Body<'/v1/aml-checks/new'> {
  const { network, subject, receiver, direction } = wish
  return isHash(wish)
    ? { type: 'hash', network, hash: subject, address: receiver, direction }
    : { type: 'address', network, address: subject }
}

export function NewCheck() {
  const { route } = useLocation()
  const prices = useQuestion('/v1/aml-checks', {})
  const wish = useSignal<Wish>({ network: 'TRX', subject: '', receiver: '', direction: 'deposit' })
  const keyOf = useRef(idsBy(() => crypto.randomUUID())).current
  const wrong = useSignal<string | undefined>(undefined)
  const submission = useSubmission()
  const set = (change: Partial<Wish>) => {
    wish.value = { ...wish.value, ...change }
    wrong.value = undefined
  }
  const check = () => {
    wrong.value = wish.value.subject === '' ? say('check.nothing') : undefined
    if (wrong.value !== undefined) return
    void submission.run(async () => {
      const body = bodyOf(wish.value)
      const options = { idempotency_key: keyOf(body) }
      const { id } = await ask('/v1/aml-checks/new', body, options)
      route(path.check(id))
    })
  }
  return (
    <section class="panel narrow">
      <h2>{say('check.new')}</h2>
      <Form
        onSubmit={check}
        wrong={submission.fault.value && <MoneyFault fault={submission.fault.value} />}
      >
        <WishFields wish={wish.value} wrong={wrong.value} set={set} />
        <Answer question={prices} lines={1}>
          {(prices) => (
            <Price
              price={prices.find(({ type }) => type === bodyOf(wish.value).type)?.price}
              is_hash={isHash(wish.value)}
            />
          )}
        </Answer>
        <Submit is_busy={submission.is_busy.value}>{say('check')}</Submit>
      </Form>
    </section>
  )
}

type WishFieldsProps = {
  wish: Wish
  wrong: string | undefined
  set: (change: Partial<Wish>) => void
}

function WishFields({ wish, wrong, set }: WishFieldsProps) {
  return (
    <>
      <TextField
        label={say('check.subject')}
        wrong={wrong}
        value={wish.subject}
        onText={(text) => set({ subject: text.trim() })}
      />
      {isHash(wish) && (
        <>
          <TextField
            label={say('check.receiver')}
            hint={say('check.receiver_hint')}
            value={wish.receiver}
            onText={(text) => set({ receiver: text.trim() })}
          />
          <ChoiceField
            label={say('check.direction')}
            value={wish.direction}
            choices={[
              { value: 'deposit', text: say('check.deposit') },
              { value: 'withdrawal', text: say('check.withdrawal') },
            ]}
            onChoice={(value) => set({ direction: value as Wish['direction'] })}
          />
        </>
      )}
      <ChoiceField
        label={say('check.network')}
        value={wish.network}
        choices={NETWORKS.map((value) => ({ value, text: value }))}
        onChoice={(network) => set({ network })}
      />
    </>
  )
}

/** Undefined: not on sale. */
function Price({ price, is_hash }: { price: number | undefined; is_hash: boolean }) {
  if (price === undefined) return <p class="note warn">{say('check.off_sale')}</p>
  const costs = is_hash ? say('check.price_of_hash') : say('check.price_of_address')
  return (
    <p>
      {costs} <Money trx={price} />. <span class="quiet">{say('check.charged')}</span>
    </p>
  )
}
