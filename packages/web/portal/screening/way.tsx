// The way of the money: from its origin on the left to the address on the right, and the same as a
// table.

import { WAY_NODE, wayOf } from '../../shared/charts/way.ts'
import { Address, Hash, shortText } from '../../shared/parts/address.tsx'
import { type Column, Table } from '../../shared/parts/table.tsx'
import { say } from '../../shared/words/words.ts'
import { amountText, type Factor, type Transfer } from './evidence.ts'

type MoneyWayProps = {
  factor: Factor
  /** What its category is called. */
  label: string
  /** Of its category: low, medium, high. */
  group: string
}

export function MoneyWay({ factor: { origins, path }, label, group }: MoneyWayProps) {
  const transfers = path.toReversed()
  const title = [label, origins[0]?.entity].filter((one) => one !== undefined).join(': ')
  return (
    <figure class="chart">
      <h3>{title}</h3>
      <figcaption>{say('way.sentence', { n: path.length })}</figcaption>
      <section class="table-frame" aria-label={title} tabIndex={0}>
        <WayDrawing transfers={transfers} title={title} group={group} />
      </section>
      <Table
        caption={say('way.table', { category: label })}
        rows={transfers}
        keyOf={({ tx_id, from, to, asset }) => [tx_id, from, to, asset].join(' ')}
        columns={transferColumns()}
      />
    </figure>
  )
}

/** Beside the colour, so that the group is told without it. */
const GROUP_SHAPES: Readonly<Record<string, string>> = { low: '●', medium: '▲', high: '■' }

type WayDrawingProps = { transfers: readonly Transfer[]; title: string; group: string }

function WayDrawing({ transfers, title, group }: WayDrawingProps) {
  const addresses = [transfers[0]!.from, ...transfers.map(({ to }) => to)]
  const { width, height, nodes, arrows } = wayOf(addresses.length)
  return (
    <svg class="way" viewBox={`0 0 ${width} ${height}`} width={width} role="img" aria-label={title}>
      {nodes.map(({ x, y, middle }, i) => (
        <g key={`${i} ${addresses[i]}`}>
          <rect
            class={i === 0 ? `node ${group}` : 'node'}
            x={x}
            y={y}
            width={WAY_NODE.width}
            height={WAY_NODE.height}
            rx={4}
          />
          <text x={middle} y={y + WAY_NODE.height / 2 + 4} text-anchor="middle">
            {i === 0 && `${GROUP_SHAPES[group] ?? '◇'} `}
            {shortText(addresses[i]!)}
          </text>
        </g>
      ))}
      {arrows.map(({ x1, x2, y, middle }, i) => (
        <g key={`${i} ${transfers[i]!.tx_id}`}>
          <path class="arrow" d={`M${x1} ${y}H${x2}m-6 -4l6 4l-6 4`} />
          <text x={middle} y={y - 8} text-anchor="middle">
            {transfers[i]!.asset.slice(0, 8)}
          </text>
        </g>
      ))}
    </svg>
  )
}

const transferColumns = (): Column<Transfer>[] => [
  { title: say('order.hash'), cell: ({ tx_id }) => <Hash tx_id={tx_id} /> },
  { title: say('way.block'), is_figure: true, cell: ({ block }) => block },
  { title: say('money.from'), cell: ({ from }) => <Address address={from} /> },
  { title: say('way.to'), cell: ({ to }) => <Address address={to} /> },
  {
    title: say('way.amount'),
    is_figure: true,
    cell: ({ amount, asset }) => amountText(amount, asset),
  },
  {
    title: say('way.carried'),
    is_figure: true,
    cell: ({ carried, asset }) =>
      carried === null ? say('way.not_kept') : amountText(carried, asset),
  },
]
