// Prices: the tiers in force beside what burning costs, how they came to be, what is on sale, fees
// and plans.

import { useSignal } from '@preact/signals'
import { Title } from '../../shared/frame/title.tsx'
import { Answer } from '../../shared/parts/answer.tsx'
import { Money } from '../../shared/parts/money.tsx'
import { Shape } from '../../shared/parts/state.tsx'
import { type Column, Table } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { count, named, say } from '../../shared/words/words.ts'
import { mayChange, type Reply, trx, useRun } from '../calls/calls.ts'
import { Fees, Plans } from './fees.tsx'
import { OnSale } from './on_sale.tsx'
import { PriceChange, rangeText, type Tier } from './price_change.tsx'
import { PriceRules } from './price_rules.tsx'
import { PriceSteps } from './price_steps.tsx'

type BurnCosts = Reply<'prices burning'>

export default function Prices() {
  const tiers = useRun('prices list', {})
  const burning = useRun('prices burning', {})
  const chosen = useSignal<Tier | undefined>(undefined)
  const costs = burning.answer.value
  return (
    <>
      <Title title={say('prices')} />
      <div class="stack">
        <Answer question={tiers} lines={8}>
          {(rows) => (
            <Table
              caption={say('prices.in_force')}
              keyOf={({ resource, min_amount }) => `${resource} ${min_amount}`}
              rows={rows}
              columns={columns(costs, (tier) => {
                chosen.value = tier
              })}
            />
          )}
        </Answer>
        {chosen.value && (
          <PriceChange
            key={rangeText(chosen.value)}
            tier={chosen.value}
            onDone={() => void tiers.again()}
          />
        )}
        <PriceSteps tiers={tiers.answer.value} burning_sun={costs?.energy_sun ?? null} />
        <PriceRules onDone={() => void tiers.again()} />
        <OnSale />
        <Fees />
        <Plans />
      </div>
    </>
  )
}

/** The costs of 1000 units that are burned; null: the node has not said. */
const burningOf = (costs: BurnCosts | undefined, { resource }: Tier): number | null =>
  (resource === 'energy' ? costs?.energy_sun : costs?.bandwidth_sun) ?? null

/** How much less a tier costs than burning does, or how much more. */
function Saving({ tier, costs }: { tier: Tier; costs: BurnCosts | undefined }) {
  const burning_sun = burningOf(costs, tier)
  if (burning_sun === null || burning_sun === 0) return <span class="quiet">–</span>
  const share = Math.round((1_000 * (burning_sun - tier.price_sun)) / burning_sun) / 10
  return (
    <span class="figure">
      <Shape mark={share > 0 ? 'done' : 'look'} />{' '}
      {share >= 0
        ? say('prices.below', { percent: count(share) })
        : say('prices.above', { percent: count(-share) })}
    </span>
  )
}

const columns = (costs: BurnCosts | undefined, onChange: (tier: Tier) => void): Column<Tier>[] => [
  { title: say('resource'), cell: ({ resource }) => named('resource', resource) },
  { title: say('prices.range'), cell: rangeText, is_figure: true },
  {
    title: say('prices.of_1000'),
    cell: ({ price_sun }) => <Money trx={trx(price_sun)} />,
    is_figure: true,
  },
  {
    title: say('prices.burning'),
    is_figure: true,
    cell: (tier) => <Saving tier={tier} costs={costs} />,
  },
  {
    title: say('prices.costs'),
    is_figure: true,
    cell: ({ cost_of_min_sun, cost_of_max_sun }) => (
      <>
        {count(trx(cost_of_min_sun))} – <Money trx={trx(cost_of_max_sun)} />
      </>
    ),
  },
  { title: say('since'), cell: ({ since }) => <Time at={since} /> },
  { title: say('by'), cell: ({ changed_by }) => changed_by },
  {
    title: say('prices.change'),
    is_actions: true,
    cell: (tier) => (
      <button type="button" class="small" disabled={!mayChange()} onClick={() => onChange(tier)}>
        {say('prices.change')}
      </button>
    ),
  },
]
