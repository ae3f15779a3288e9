// Flat prices, and the plans that customers can subscribe to.

import { Block } from '../../shared/parts/block.tsx'
import { Money } from '../../shared/parts/money.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { count, named, say } from '../../shared/words/words.ts'
import { trx, useRun } from '../calls/calls.ts'
import { Rows } from '../calls/rows.tsx'

export function Fees() {
  const fees = useRun('fees list', {})
  return (
    <Block title={say('fees')}>
      <Rows
        question={fees}
        none={say('none')}
        caption={say('fees')}
        keyOf={({ name }) => name}
        columns={[
          { title: say('name'), cell: ({ name }) => named('fee', name) },
          {
            title: say('price'),
            is_figure: true,
            cell: ({ price_sun }) => <Money trx={trx(price_sun)} />,
          },
          { title: say('since'), cell: ({ since }) => <Time at={since} /> },
          { title: say('by'), cell: ({ changed_by }) => changed_by },
        ]}
      />
    </Block>
  )
}

export function Plans() {
  const plans = useRun('plans list', {})
  return (
    <Block title={say('plans')}>
      <Rows
        question={plans}
        none={say('plans.none')}
        caption={say('plans')}
        keyOf={({ key }) => key}
        columns={[
          { title: say('name'), cell: ({ name }) => named('said', name) },
          {
            title: say('plans.start'),
            is_figure: true,
            cell: ({ initial_price_sun }) => <Money trx={trx(initial_price_sun)} />,
          },
          {
            title: say('plans.use'),
            is_figure: true,
            cell: ({ price_sun }) => <Money trx={trx(price_sun)} />,
          },
          {
            title: say('plans.included'),
            is_figure: true,
            cell: ({ included }) => count(included),
          },
          { title: say('since'), cell: ({ since }) => <Time at={since} /> },
          { title: say('by'), cell: ({ changed_by }) => changed_by },
        ]}
      />
    </Block>
  )
}
