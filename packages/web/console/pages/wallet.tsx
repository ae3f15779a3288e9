// One wallet of the pool: whether it can pay and sign, what it can still delegate, and what it has
// out.

import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
import { Address, shortText } from '../../shared/parts/address.tsx'
import { Answer } from '../../shared/parts/answer.tsx'
import { Money } from '../../shared/parts/money.tsx'
import { Shape, State } from '../../shared/parts/state.tsx'
import { Table } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/console.ts'
import { count, named, say } from '../../shared/words/words.ts'
import { type Reply, type Row, trx, useRun } from '../calls/calls.ts'
import { Rows } from '../calls/rows.tsx'

type Wallet = Reply<'wallets show'>
type Delegation = Row<'delegations list'>

const LIMIT = 50
/** Asked again with every tick. */
const onTick = {
  patch: <Known,>(known: Known, { type }: { type: string }): Known | 'again' =>
    type === 'tick' ? 'again' : known,
}

export default function OneWallet({ params }: PageProps) {
  const address = params.id!
  const wallet = useRun('wallets show', { wallet: address }, onTick)
  const active = { wallet: address, state: 'active', limit: LIMIT } as const
  const delegations = useRun('delegations list', active, onTick)
  return (
    <>
      <Title title={`${say('wallet')} ${shortText(address)}`} section={say('pool')} />
      <div class="stack">
        <p>
          <Address address={address} whole />
        </p>
        <Answer question={wallet} lines={8}>
          {(known) => (
            <>
              <Verdict {...known} />
              <Resources {...known} />
            </>
          )}
        </Answer>
        <Rows
          question={delegations}
          none={say('wallet.nothing_out')}
          caption={say('wallet.out')}
          caption_shown
          keyOf={({ id }) => id}
          columns={DELEGATION_COLUMNS()}
        />
      </div>
    </>
  )
}

/** Why nothing is sold from it, or that nothing speaks against it. */
function Verdict({ carries_min, resources, key }: Wallet) {
  const reasons = [
    ...resources
      .filter(({ carries }) => carries < carries_min)
      .map(({ resource, carries }) =>
        say('wallet.cannot_pay', {
          resource: named('resource', resource),
          carries,
          least: carries_min,
        }),
      ),
    ...(key?.stopped ? [say('wallet.key_stopped')] : []),
    ...(key?.stopped_here ? [say('wallet.machine_stopped')] : []),
    ...(key?.complaints ?? []),
  ]
  return (
    <ul>
      {reasons.map((reason) => (
        <li key={reason}>
          <Shape mark="failed" /> {reason}
        </li>
      ))}
      {reasons.length === 0 && (
        <li>
          <Shape mark="done" /> {say('wallet.can_pay')}
        </li>
      )}
      <li>
        {key === null ? (
          say('wallet.key_unchecked')
        ) : (
          <>
            {say('wallet.key_checked')} <Time at={key.checked_at} relative />
          </>
        )}
      </li>
    </ul>
  )
}

const Resources = ({ resources }: Wallet) => (
  <Table
    caption={say('wallet.resources')}
    caption_shown
    keyOf={({ resource }) => resource}
    rows={resources}
    columns={[
      { title: say('resource'), cell: ({ resource }) => named('resource', resource) },
      {
        title: say('pool.largest'),
        is_figure: true,
        cell: ({ room_sun }) => <Money trx={trx(room_sun)} />,
      },
      {
        title: say('pool.out'),
        is_figure: true,
        cell: ({ out_sun }) => <Money trx={trx(out_sun)} />,
      },
      {
        title: say('pool.delegations'),
        is_figure: true,
        cell: ({ delegations }) => count(delegations),
      },
      { title: say('pool.carries'), is_figure: true, cell: ({ carries }) => count(carries) },
      {
        title: say('wallet.surveyed'),
        is_figure: true,
        cell: ({ surveyed_at_block }) => count(surveyed_at_block),
      },
    ]}
  />
)

const DELEGATION_COLUMNS = () => [
  {
    title: say('order.one'),
    cell: ({ order_id }: Delegation) => (
      <a href={path.order(order_id)}>
        <code>{shortText(order_id)}</code>
      </a>
    ),
  },
  { title: say('receiver'), cell: ({ receiver }: Delegation) => <Address address={receiver} /> },
  {
    title: say('pool.out'),
    is_figure: true,
    cell: ({ stake_sun }: Delegation) => <Money trx={trx(stake_sun)} />,
  },
  { title: say('resource'), cell: ({ resource }: Delegation) => named('resource', resource) },
  { title: say('state'), cell: ({ state }: Delegation) => <State state={state} /> },
  {
    title: say('wallet.until'),
    cell: ({ expires_at }: Delegation) =>
      expires_at === null ? '' : <Time at={expires_at} relative />,
  },
]
