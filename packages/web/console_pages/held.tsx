// Deposits that wait for a decision: who sent what, why it is held, and how it is ended.

import { useSignal } from '@preact/signals'
import { mayChange, trx, useRun } from '../console_calls/calls.ts'
import { Reason } from '../console_calls/reason.tsx'
import { Title } from '../frame/title.tsx'
import { Address, shortText } from '../parts/address.tsx'
import { Answer, Empty } from '../parts/answer.tsx'
import { TextField } from '../parts/field.tsx'
import { Money } from '../parts/money.tsx'
import { Table } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { count, say } from '../words/words.ts'

type Deposit = {
  tx_id: string
  position: number
  block_time: string
  amount_sun: number | null
  token_amount: number | null
  from_address: string
  reason: string | null
}

export default function Held() {
  const deposits = useRun<Deposit[]>(
    'deposits list',
    { state: 'held' },
    {
      patch: (known, { type }) => (type === 'tick' ? 'again' : known),
    },
  )
  const chosen = useSignal<Deposit | undefined>(undefined)
  const close = () => {
    chosen.value = undefined
  }
  return (
    <>
      <Title title={say('held')} />
      <Answer question={deposits} lines={8}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty>
              <p>{say('held.none')}</p>
            </Empty>
          ) : (
            <Table
              caption={say('held')}
              keyOf={({ tx_id, position }) => `${tx_id}:${position}`}
              rows={rows}
              columns={[
                { title: say('time'), cell: ({ block_time }) => <Time at={block_time} relative /> },
                { title: say('sender'), cell: (one) => <Address address={one.from_address} /> },
                {
                  title: say('amount'),
                  is_figure: true,
                  cell: ({ amount_sun, token_amount }) =>
                    amount_sun === null ? (
                      count(token_amount ?? 0)
                    ) : (
                      <Money trx={trx(amount_sun)} />
                    ),
                },
                { title: say('why'), cell: ({ reason }) => reason ?? '' },
                { title: say('hash'), cell: ({ tx_id }) => <code>{shortText(tx_id)}</code> },
                {
                  title: say('held.end'),
                  cell: (one) => (
                    <button
                      type="button"
                      class="small"
                      disabled={!mayChange()}
                      onClick={() => {
                        chosen.value = one
                      }}
                    >
                      {say('decide')}
                    </button>
                  ),
                },
              ]}
            />
          )
        }
      </Answer>
      {chosen.value && (
        <Decision deposit={chosen.value} onClose={close} onDone={() => void deposits.again()} />
      )}
    </>
  )
}

type DecisionProps = { deposit: Deposit; onClose: () => void; onDone: () => void }

/** One of three ways to end it. */
function Decision({ deposit: { tx_id, position }, ...dialog }: DecisionProps) {
  const customer = useSignal('')
  const sent_by = useSignal('')
  const way = sent_by.value
    ? { sent_by: sent_by.value }
    : customer.value
      ? { credit: customer.value }
      : { written_off: true }
  return (
    <Reason
      {...dialog}
      title={say('decide')}
      words="deposits resolve"
      options={{ tx_id, position, ...way }}
    >
      <p>{say('held.ways')}</p>
      <TextField
        label={say('held.credit')}
        value={customer.value}
        onText={(text) => {
          customer.value = text.trim()
        }}
      />
      <TextField
        label={say('held.sent_by')}
        value={sent_by.value}
        onText={(text) => {
          sent_by.value = text.trim()
        }}
      />
    </Reason>
  )
}
