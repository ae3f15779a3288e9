// The ways of the money: one drawing from the origins on the left to the address on the right, and
// each of its transfers in a table.

import { Address, Hash, shortText } from '../../shared/parts/address.tsx'
import { type Column, Table } from '../../shared/parts/table.tsx'
import { FLOW_BOX, type FlowArrow, type FlowBox, flowOf } from '../../shared/reports/flow.ts'
import { say } from '../../shared/words/words.ts'
import { amountText, type Factor, shortAmount, type Transfer } from './evidence.ts'

export type NamedFactor = Factor & {
  /** The name of its category. */
  label: string
  /** Of its category: low, medium, high. */
  group: string
}

/** The service that the way begins at, else what its category is called. */
const originOf = ({ origins, label }: NamedFactor) => origins[0]?.entity || label

export function MoneyFlow({ factors }: { factors: readonly NamedFactor[] }) {
  const { width, height, boxes, arrows } = flowOf(factors)
  const label = say('flow.label', {
    origins: factors.map(originOf).join(', '),
    end: shortText(factors[0]!.path[0]!.to),
  })
  return (
    <figure class="chart">
      <section class="table-frame flow" aria-label={say('way')} tabIndex={0}>
        <svg
          class="way"
          viewBox={`0 0 ${width} ${height}`}
          width={width}
          role="img"
          aria-label={label}
        >
          {arrows.map((arrow, i) => (
            <Arrow key={`${i} ${arrow.d}`} {...arrow} />
          ))}
          {boxes.map((box, i) => (
            <Box key={`${i} ${box.address}`} {...box} factor={factors[box.way ?? -1]} />
          ))}
        </svg>
      </section>
      <figcaption>{say('way.explained')}</figcaption>
    </figure>
  )
}

function Arrow({ d, x, y, sums }: FlowArrow) {
  const [[asset, units] = ['', ''], ...others] = sums
  const sum = shortAmount(units, asset)
  return (
    <g>
      <path class="arrow" d={d} />
      <text x={x} y={y} text-anchor="middle">
        {others.length === 0 ? sum : say('flow.more', { sum })}
      </text>
    </g>
  )
}

/** Beside the colour, so that the group is told without it. */
const GROUP_SHAPES: Readonly<Record<string, string>> = { low: '●', medium: '▲', high: '■' }
const NAME_MAX = 17

const cut = (name: string) => (name.length > NAME_MAX ? `${name.slice(0, NAME_MAX - 1)}…` : name)

function Box({ address, x, y, is_end, factor }: FlowBox & { factor: NamedFactor | undefined }) {
  const middle = x + FLOW_BOX.width / 2
  const shape = factor && `${GROUP_SHAPES[factor.group] ?? '◇'} `
  const name = is_end ? say('flow.end') : factor && cut(originOf(factor))
  return (
    <g>
      <rect
        class={['node', is_end ? 'end' : factor?.group].join(' ')}
        x={x}
        y={y}
        width={FLOW_BOX.width}
        height={FLOW_BOX.height}
        rx={6}
      />
      {name && (
        <text class="name" x={middle} y={y + 19} text-anchor="middle">
          {shape}
          {name}
        </text>
      )}
      <text x={middle} y={name ? y + 37 : y + 28} text-anchor="middle">
        {shortText(address)}
      </text>
    </g>
  )
}

/** All transfers of one way, in the order of time. */
export function WayTable({ factor }: { factor: NamedFactor }) {
  const { label, path } = factor
  return (
    <>
      <h3>{label === originOf(factor) ? label : `${label}: ${originOf(factor)}`}</h3>
      <Table
        caption={say('way.table', { category: label })}
        rows={path.toReversed()}
        keyOf={({ tx_id, from, to, asset }) => [tx_id, from, to, asset].join(' ')}
        columns={transferColumns()}
      />
    </>
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
