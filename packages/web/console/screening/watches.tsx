// Addresses that are screened again whenever what is known changes, and whose level has changed.

import { Address, shortText } from '../../shared/parts/address.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/console.ts'
import { named, say } from '../../shared/words/words.ts'
import { type Row, useRun } from '../calls/calls.ts'
import { Rows } from '../calls/rows.tsx'

type Watch = Row<'aml watches'>

const CHANGES_MS = 30 * 86_400_000

const about = () => [
  {
    title: say('address'),
    cell: ({ address }: Pick<Watch, 'address'>) => <Address address={address} />,
  },
  {
    title: say('customer'),
    cell: ({ customer_id }: Pick<Watch, 'customer_id'>) => (
      <a href={path.customer(customer_id)}>
        <code>{shortText(customer_id)}</code>
      </a>
    ),
  },
]

export function Watches() {
  const watches = useRun('aml watches', { limit: 100 })
  return (
    <Rows
      question={watches}
      none={say('watches.none')}
      caption={say('watches')}
      caption_shown
      keyOf={({ customer_id, address }) => `${customer_id} ${address}`}
      columns={[
        ...about(),
        {
          title: say('watches.level'),
          cell: ({ risk_level }) => (risk_level === null ? '' : named('level', risk_level)),
        },
        { title: say('since'), cell: ({ made_at }) => <Time at={made_at} relative /> },
      ]}
    />
  )
}

/** Of the last 30 days, oldest first. */
export function LevelChanges() {
  const since = new Date(Date.now() - CHANGES_MS).toISOString().slice(0, 10)
  const changes = useRun('aml changes', { since })
  return (
    <Rows
      question={changes}
      none={say('watches.no_changes')}
      caption={say('watches.changes')}
      caption_shown
      keyOf={({ check_id }) => check_id}
      columns={[
        ...about(),
        {
          title: say('watches.level'),
          cell: ({ from_level, to_level }) =>
            `${named('level', from_level)} → ${named('level', to_level)}`,
        },
        { title: say('time'), cell: ({ ended_at }) => <Time at={ended_at} relative /> },
      ]}
    />
  )
}
