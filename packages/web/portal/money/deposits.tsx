// What has arrived at the customer's address, the newest first, and what became of it.

import type { Result } from 'penstock-sdk'
import { FilteredList } from '../../shared/files/filtered_list.tsx'
import type { PageProps } from '../../shared/frame/face.ts'
import { Address, Hash } from '../../shared/parts/address.tsx'
import { Empty } from '../../shared/parts/answer.tsx'
import { namedChoices } from '../../shared/parts/field.tsx'
import type { FilterField } from '../../shared/parts/list.tsx'
import { Money } from '../../shared/parts/money.tsx'
import { State } from '../../shared/parts/state.tsx'
import type { Column } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { TokenAmount } from '../../shared/parts/token.tsx'
import { path } from '../../shared/paths/portal.ts'
import { named, say } from '../../shared/words/words.ts'

type Deposit = Result<'/v1/deposits/list'>['items'][number]

const STATES = ['seen', 'unproven', 'credited', 'held', 'ignored', 'resolved', 'gone']

const filterFields = (): FilterField[] => [
  {
    name: 'state',
    label: say('order.state'),
    choices: namedChoices('state', STATES),
  },
  { name: 'since', label: say('filter.since'), type: 'date' },
  { name: 'until', label: say('filter.until'), type: 'date' },
]

export const Deposits = ({ query }: Pick<PageProps, 'query'>) => (
  <FilteredList<Deposit>
    path="/v1/deposits/list"
    address={path.money}
    query={query}
    fields={filterFields()}
    file="deposits"
    caption={say('money.deposits')}
    columns={columns()}
    keyOf={({ tx_id, token, token_amount, amount }) =>
      [tx_id, token, token_amount, amount].join(' ')
    }
    isStale={({ type }) => type.startsWith('deposit.')}
    none={
      <Empty>
        <p>{say('money.no_deposits')}</p>
      </Empty>
    }
  />
)

const columns = (): Column<Deposit>[] => [
  { title: say('time'), cell: ({ block_time }) => <Time at={block_time} relative /> },
  { title: say('entry.amount'), is_figure: true, cell: (deposit) => <Amount {...deposit} /> },
  { title: say('order.state'), cell: (deposit) => <Progress {...deposit} /> },
  { title: say('money.from'), cell: ({ from_address }) => <Address address={from_address} /> },
  { title: say('order.hash'), cell: ({ tx_id }) => <Hash tx_id={tx_id} /> },
]

const Amount = ({ amount, token, token_amount }: Deposit) =>
  amount === undefined ? (
    <TokenAmount units={token_amount ?? '0'} token={token ?? ''} />
  ) : (
    <Money trx={amount} />
  )

/** Its state with what it waits for, or why it is in it. */
const Progress = ({ state, reason, solid, solid_in_blocks }: Deposit) => (
  <>
    <State state={state} />
    {state === 'seen' && !solid && (
      <span class="quiet"> {say('money.solid_in', { n: solid_in_blocks })}</span>
    )}
    {reason !== null && <span class="quiet"> {named('said', reason)}</span>}
    {state === 'held' && <p class="note">{say('money.held_next')}</p>}
  </>
)
