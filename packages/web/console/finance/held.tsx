// Deposits that wait for a decision: who sent what, why it is held, and how it is ended.

import { useSignal } from '@preact/signals'
import { Address, shortText } from '../../shared/parts/address.tsx'
import { Answer } from '../../shared/parts/answer.tsx'
import { Table } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/console.ts'
import { named, say } from '../../shared/words/words.ts'
import { mayChange, useRun } from '../calls/calls.ts'
import { Decision, HeldAmount, type HeldDeposit } from './held_decision.tsx'

export function HeldDeposits() {
  const deposits = useRun(
    'deposits list',
    { state: 'held' },
    {
      patch: (known, { type }) => (type === 'tick' ? 'again' : known),
    },
  )
  const chosen = useSignal<HeldDeposit | undefined>(undefined)
  const close = () => {
    chosen.value = undefined
  }
  return (
    <section class="panel">
      <h2>{say('held')}</h2>
      <Answer question={deposits} lines={8}>
        {(rows) =>
          rows.length === 0 ? (
            <p class="quiet">{say('held.none')}</p>
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
                  cell: (one) => <HeldAmount {...one} />,
                },
                {
                  title: say('customer'),
                  cell: ({ customer_id }) =>
                    customer_id === null ? (
                      say('held.recharge')
                    ) : (
                      <a href={path.customer(customer_id)}>
                        <code>{shortText(customer_id)}</code>
                      </a>
                    ),
                },
                { title: say('why'), cell: ({ reason }) => named('said', reason ?? '') },
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
    </section>
  )
}
