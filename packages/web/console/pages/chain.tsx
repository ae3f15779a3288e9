// The chain as it is followed, what each node says of it and how it answers, who reads its blocks,
// and our transactions that are not in one yet.

import { Title } from '../../shared/frame/title.tsx'
import { shortText } from '../../shared/parts/address.tsx'
import { Answer } from '../../shared/parts/answer.tsx'
import { State } from '../../shared/parts/state.tsx'
import { Facts, Table } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { isAhead, lagText, spanText } from '../../shared/words/span.ts'
import { count, say } from '../../shared/words/words.ts'
import { type Reply, type Row, useRun } from '../calls/calls.ts'
import { Rows } from '../calls/rows.tsx'
import { Nodes } from '../nodes/nodes.tsx'
import { NodeRequests } from '../nodes/requests.tsx'

type Chain = Reply<'chain show'>
type Attempt = Row<'attempts list'>

/** Asked again with every tick. */
const onTick = {
  patch: <Known,>(known: Known, { type }: { type: string }): Known | 'again' =>
    type === 'tick' ? 'again' : known,
}

export default function ChainPage() {
  const chain = useRun('chain show', {}, onTick)
  const attempts = useRun('attempts list', { open: true, limit: 100 }, onTick)
  return (
    <>
      <Title title={say('chain')} />
      <div class="stack">
        <Answer question={chain} lines={8}>
          {(known) => (
            <>
              <Facts facts={factsOf(known)} />
              <Readers {...known} />
            </>
          )}
        </Answer>
        <Nodes />
        <NodeRequests />
        <Rows
          question={attempts}
          none={say('chain.no_attempts')}
          caption={say('chain.attempts')}
          caption_shown
          keyOf={({ id }) => id}
          columns={ATTEMPT_COLUMNS()}
        />
      </div>
    </>
  )
}

const factsOf = (known: Chain): [string, string | preact.VNode][] => [
  [
    say('chain.head'),
    <>
      {count(known.head_number)}{' '}
      <Time at={known.head_time} relative={!isAhead(known.behind_seconds)} />
    </>,
  ],
  [say('chain.solid'), count(known.solid_number)],
  [say('chain.confirmed'), count(known.confirmed_number)],
  [say('chain.behind'), lagText(known.behind_seconds)],
  [say('chain.silent'), spanText(1_000 * known.silent_seconds)],
  [
    say('chain.disputed'),
    known.disputed_number === null ? say('none') : count(known.disputed_number),
  ],
]

const Readers = ({ readers }: Chain) => (
  <Table
    caption={say('chain.readers')}
    caption_shown
    keyOf={({ name }) => name}
    rows={readers}
    columns={[
      { title: say('name'), cell: ({ name }) => <code>{name}</code> },
      { title: say('chain.block'), is_figure: true, cell: (one) => count(one.number) },
      { title: say('chain.behind'), is_figure: true, cell: (one) => count(one.behind_blocks) },
    ]}
  />
)

const ATTEMPT_COLUMNS = () => [
  { title: say('time'), cell: ({ made_at }: Attempt) => <Time at={made_at} relative /> },
  { title: say('chain.subject'), cell: ({ subject }: Attempt) => <code>{subject}</code> },
  { title: say('state'), cell: ({ state }: Attempt) => <State state={state} /> },
  { title: say('order.tries'), is_figure: true, cell: ({ sends }: Attempt) => count(sends) },
  { title: say('chain.answer'), cell: ({ answer }: Attempt) => answer ?? '' },
  {
    title: say('hash'),
    cell: ({ tx_id }: Attempt) => <code>{tx_id === null ? '' : shortText(tx_id)}</code>,
  },
]
