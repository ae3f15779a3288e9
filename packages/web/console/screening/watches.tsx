// Addresses that are screened again whenever what is known changes, and whose level has changed.

import { useLocation } from 'preact-iso/router'
import { Export } from '../../shared/files/export.tsx'
import { Address, shortText } from '../../shared/parts/address.tsx'
import { Block } from '../../shared/parts/block.tsx'
import { namedChoices } from '../../shared/parts/field.tsx'
import { type FilterField, FilterForm, filterOf } from '../../shared/parts/list.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/console.ts'
import { named, say } from '../../shared/words/words.ts'
import { type Body, type Row, run, useRun } from '../calls/calls.ts'
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

/** As many as are answered at once. */
const EXPORTED_MAX = 10_000
const SHOWN_MAX = 100
const FILTERS = ['address', 'customer', 'level'] as const
const LEVELS = ['low', 'medium', 'high']

const filterFields = (): FilterField[] => [
  { name: 'address', label: say('address') },
  { name: 'customer', label: say('filter.customer') },
  {
    name: 'level',
    label: say('watches.level'),
    choices: namedChoices('level', LEVELS),
  },
]

export function Watches() {
  const set = filterOf(useLocation().query, FILTERS)
  const filter = set as Body<'aml watches'>
  const watches = useRun('aml watches', { ...filter, limit: SHOWN_MAX })
  return (
    <Block title={say('watches')} why={say('watches.why')}>
      <FilterForm fields={filterFields()} filter={set} path={path.screening}>
        <Export
          name="watches"
          pages={async function* () {
            yield await run('aml watches', { ...filter, limit: EXPORTED_MAX })
          }}
        />
      </FilterForm>
      <Rows
        question={watches}
        none={Object.keys(set).length > 0 ? say('watches.none_filtered') : say('watches.none')}
        caption={say('watches')}
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
    </Block>
  )
}

/** Of the last 30 days, oldest first. */
export function LevelChanges() {
  const since = new Date(Date.now() - CHANGES_MS).toISOString().slice(0, 10)
  const changes = useRun('aml changes', { since })
  return (
    <Block title={say('watches.changes')} why={say('watches.changes.why')}>
      <Rows
        question={changes}
        none={say('watches.no_changes')}
        caption={say('watches.changes')}
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
    </Block>
  )
}
