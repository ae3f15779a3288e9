// How one deposit that is held is ended: none of the ways is taken unless it was chosen.

import { type Signal, useSignal } from '@preact/signals'
import { LongText } from '../../shared/parts/address.tsx'
import { CheckField, ChoiceField, TextField } from '../../shared/parts/field.tsx'
import { Money } from '../../shared/parts/money.tsx'
import { Facts } from '../../shared/parts/table.tsx'
import { TokenAmount } from '../../shared/parts/token.tsx'
import { named, say } from '../../shared/words/words.ts'
import { type Row, trx, useRun } from '../calls/calls.ts'
import { Reason } from '../calls/reason.tsx'

export type HeldDeposit = Row<'deposits list'>

/** What came, in its coin. */
export const HeldAmount = ({ amount_sun, token, token_amount }: HeldDeposit) =>
  amount_sun === null ? (
    <TokenAmount units={String(token_amount ?? 0)} token={token ?? ''} />
  ) : (
    <Money trx={trx(amount_sun)} />
  )

type Way = '' | 'credit' | 'sent_by' | 'written_off'

/** What the ways are called, and the words of the button. */
const WAYS: Record<Way, () => string> = {
  '': () => say('held.choose'),
  credit: () => say('held.way.credit'),
  sent_by: () => say('held.way.sent_by'),
  written_off: () => say('held.way.written_off'),
}
const DONE_BY: Record<Way, () => string> = {
  '': () => say('decide'),
  credit: () => say('held.do.credit'),
  sent_by: () => say('held.do.sent_by'),
  written_off: () => say('held.do.written_off'),
}

const TRANSACTION = /^[0-9a-fA-F]{64}$/

/** Why this cannot be done yet. */
function missing(way: Way, customer: string, sent_by: string): string | undefined {
  if (way === '') return say('held.choose_first')
  if (way === 'credit' && customer === '') return say('held.customer_first')
  if (way === 'sent_by' && !TRANSACTION.test(sent_by)) return say('held.transaction_first')
  return undefined
}

type DecisionProps = { deposit: HeldDeposit; onClose: () => void; onDone: () => void }

export function Decision({ deposit, ...dialog }: DecisionProps) {
  const { tx_id, position, amount_sun, customer_id } = deposit
  const way = useSignal<Way>('')
  const customer = useSignal(customer_id ?? '')
  const sent_by = useSignal('')
  const keeps_rest = useSignal(false)
  const is_reviewed = useSignal(false)
  const is_blocked = deposit.reason?.startsWith('blocked') ?? false
  const chosen = {
    '': {},
    credit: { credit: customer.value },
    sent_by: { sent_by: sent_by.value, ...(keeps_rest.value && { keep_rest: true }) },
    written_off: { written_off: true },
  }[way.value]
  // Accounts are in TRX: a token can only be sent back, or kept.
  const ways: readonly Way[] =
    amount_sun === null ? ['', 'sent_by', 'written_off'] : ['', 'credit', 'sent_by', 'written_off']
  return (
    <Reason
      {...dialog}
      title={say('held.decide')}
      action={DONE_BY[way.value]()}
      words="deposits resolve"
      is_danger={way.value === 'written_off'}
      body={{ tx_id, position, ...chosen, ...(is_reviewed.value && { blocked_reviewed: true }) }}
      off={missing(way.value, customer.value, sent_by.value)}
    >
      <DepositFacts {...deposit} />
      {amount_sun === null && <p class="note">{say('held.token')}</p>}
      <ChoiceField
        label={say('held.way')}
        value={way.value}
        choices={ways.map((value) => ({
          value,
          text: WAYS[value](),
        }))}
        onChoice={(value) => {
          way.value = value as Way
        }}
      />
      <WayFields
        way={way.value}
        is_owned={customer_id !== null}
        customer={customer}
        sent_by={sent_by}
        keeps_rest={keeps_rest}
      />
      {is_blocked && (
        <CheckField
          label={say('held.reviewed')}
          is_on={is_reviewed.value}
          onCheck={(is_on) => {
            is_reviewed.value = is_on
          }}
        />
      )}
    </Reason>
  )
}

const DepositFacts = (deposit: HeldDeposit) => (
  <Facts
    facts={[
      [say('amount'), <HeldAmount {...deposit} />],
      [
        say('customer'),
        deposit.customer_id === null ? (
          say('held.recharge')
        ) : (
          <OwnerName id={deposit.customer_id} />
        ),
      ],
      [say('sender'), <LongText text={deposit.from_address} what={say('copy.address')} />],
      [say('why'), named('said', deposit.reason ?? '')],
    ]}
  />
)

type WayFieldsProps = {
  way: Way
  is_owned: boolean
  customer: Signal<string>
  sent_by: Signal<string>
  keeps_rest: Signal<boolean>
}

/** What must be said for the way that is chosen. */
const WayFields = ({ way, is_owned, customer, sent_by, keeps_rest }: WayFieldsProps) => (
  <>
    {way === 'credit' && (
      <TextField
        label={say('held.credit')}
        {...(is_owned && { hint: say('held.owner_offered') })}
        value={customer.value}
        onText={(text) => {
          customer.value = text.trim()
        }}
      />
    )}
    {way === 'sent_by' && (
      <>
        <TextField
          label={say('held.sent_by')}
          value={sent_by.value}
          onText={(text) => {
            sent_by.value = text.trim()
          }}
        />
        <CheckField
          label={say('held.keep_rest')}
          is_on={keeps_rest.value}
          onCheck={(is_on) => {
            keeps_rest.value = is_on
          }}
        />
      </>
    )}
    {way === 'written_off' && <p class="note">{say('held.written_off')}</p>}
  </>
)

/** Whose address it came to. */
function OwnerName({ id }: { id: string }) {
  const { answer } = useRun('customers show', { customer: id })
  return (
    <>
      {answer.value?.name ?? ''} <code>{id}</code>
    </>
  )
}
