// Cost and revenue of orders, and the sum that a day at this use leaves.

import { Answer } from '../../shared/parts/answer.tsx'
import { Money } from '../../shared/parts/money.tsx'
import { Facts, Table } from '../../shared/parts/table.tsx'
import { count, named, say } from '../../shared/words/words.ts'
import { type Reply, trx, useRun } from '../calls/calls.ts'

type CostsReply = Reply<'pool costs'>
type Line = CostsReply['lines'][number]

export function Costs() {
  const costs = useRun('pool costs', {})
  return (
    <Answer question={costs} lines={8}>
      {(known) => (
        <section class="stack">
          <h2>{say('costs')}</h2>
          <p class="quiet">{say('costs.sentence')}</p>
          <Facts facts={factsOf(known)} />
          {known.lines.length > 0 && <Lines lines={known.lines} />}
        </section>
      )}
    </Answer>
  )
}

const money = (sun: number) => <Money trx={trx(sun)} />
const moneyOrNone = (sun: number | null) =>
  sun === null ? <span class="quiet">–</span> : money(sun)

const factsOf = ({ day, capital, votes }: CostsReply): [string, preact.VNode][] => [
  [say('costs.revenue'), money(day.revenue_sun)],
  [say('costs.burned'), money(day.burned_sun)],
  [say('costs.capital', { percent: capital.percent }), money(day.capital_sun)],
  [say('costs.votes'), money(day.votes_sun)],
  [say('costs.forgone'), moneyOrNone(votes.forgone_day_sun)],
  [say('costs.left'), money(day.left_sun)],
]

const figure = (title: string, of: (line: Line) => number | null) => ({
  title,
  is_figure: true,
  cell: (line: Line) => moneyOrNone(of(line)),
})

const Lines = ({ lines }: { lines: readonly Line[] }) => (
  <Table
    caption={say('costs.by_kind')}
    caption_shown
    keyOf={({ kind }) => kind}
    rows={lines}
    columns={[
      { title: say('costs.kind'), cell: ({ kind }) => named('cost', kind) },
      { title: say('number'), is_figure: true, cell: ({ orders }) => count(orders) },
      {
        title: say('costs.bandwidth'),
        is_figure: true,
        cell: ({ bandwidth }) => count(bandwidth),
      },
      figure(say('costs.revenue'), ({ revenue_sun }) => revenue_sun),
      figure(say('costs.burned'), ({ burned_sun }) => burned_sun),
      figure(say('costs.of_order'), ({ order_burned_sun }) => order_burned_sun),
      figure(say('costs.revenue_1000'), ({ revenue_1000_sun }) => revenue_1000_sun),
      figure(say('costs.cost_1000'), ({ cost_1000_sun }) => cost_1000_sun),
    ]}
  />
)
