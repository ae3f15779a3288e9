// One order: what it waits for, its parts on wallets, their transactions, its entries.

import { useSubmission } from '../../shared/calls/submission.ts'
import { saveFile } from '../../shared/files/csv.ts'
import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
import { Address, shortText } from '../../shared/parts/address.tsx'
import { Answer, FaultNote } from '../../shared/parts/answer.tsx'
import { Money } from '../../shared/parts/money.tsx'
import { State } from '../../shared/parts/state.tsx'
import { Facts, Table } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/console.ts'
import { count, named, say } from '../../shared/words/words.ts'
import { type Reply, run, trx, useRun } from '../calls/calls.ts'

type Order = Reply<'orders show'>

export default function OnePage({ params }: PageProps) {
  const order = useRun(
    'orders show',
    { order: params.id! },
    {
      patch: (known, { type }) => (type === 'tick' ? 'again' : known),
    },
  )
  return (
    <>
      <Title title={`${say('order.one')} ${shortText(params.id!)}`} section={say('orders.all')}>
        <Proof order={params.id!} />
      </Title>
      <Answer question={order} lines={12}>
        {(known) => (
          <div class="stack">
            <Facts facts={factsOf(known)} />
            <Parts {...known} />
            <Entries {...known} />
          </div>
        )}
      </Answer>
    </>
  )
}

/** The proof of the order as a file, which `orders verify` checks without the service. */
function Proof({ order }: { order: string }) {
  const submission = useSubmission()
  const save = () =>
    submission.run(async () => {
      const proof = await run('orders prove', { order })
      saveFile(`proof-${order}.json`, 'application/json', `${JSON.stringify(proof)}\n`)
    })
  return (
    <>
      <button type="button" disabled={submission.is_busy.value} onClick={save}>
        {say('order.prove')}
      </button>
      {submission.fault.value && <FaultNote fault={submission.fault.value} />}
    </>
  )
}

const factsOf = (known: Order): [string, string | preact.VNode][] => [
  [say('state'), <State state={known.state} />],
  [say('service'), named('service', known.service)],
  [say('receiver'), <Address address={known.address} />],
  [
    say('customer'),
    <a href={path.customer(known.customer_id)}>
      <code>{known.customer_id}</code>
    </a>,
  ],
  [say('order.own_id'), known.external_id ?? say('none')],
  [say('price'), <Money trx={trx(known.amount_sun)} />],
  [say('time'), <Time at={known.created_at} relative />],
  [say('order.tries'), count(known.tries)],
  [say('order.due'), <Time at={known.due_at} relative />],
]

const Parts = ({ delegations }: Order) => (
  <Table
    caption={say('order.parts')}
    caption_shown
    keyOf={({ id }) => id}
    rows={delegations}
    columns={[
      { title: say('wallet'), cell: ({ wallet }) => <Address address={wallet} /> },
      {
        title: say('amount'),
        is_figure: true,
        cell: ({ amount, resource }) => `${count(amount)} ${named('resource', resource)}`,
      },
      { title: say('state'), cell: ({ state }) => <State state={state} /> },
      { title: say('attempt'), cell: ({ attempt }) => attempt ?? say('none') },
      { title: say('hash'), cell: ({ tx_id }) => <code>{tx_id ? shortText(tx_id) : ''}</code> },
    ]}
  />
)

const Entries = ({ entries }: Order) => (
  <Table
    caption={say('order.ledger')}
    caption_shown
    keyOf={({ id }) => id}
    rows={entries}
    columns={[
      { title: say('time'), cell: ({ made_at }) => <Time at={made_at} /> },
      { title: say('kind'), cell: ({ kind }) => kind },
      {
        title: say('amount'),
        is_figure: true,
        cell: ({ amount_sun }) => <Money trx={trx(amount_sun)} />,
      },
    ]}
  />
)
