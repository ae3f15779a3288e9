// What each thief can take at most, in the amounts of this installation.

import { Block } from '../../shared/parts/block.tsx'
import { Money } from '../../shared/parts/money.tsx'
import { named, say } from '../../shared/words/words.ts'
import { type Row, trx, useRun } from '../calls/calls.ts'
import { Rows } from '../calls/rows.tsx'

export function RiskTable() {
  const risks = useRun('risk', {})
  return (
    <Block title={say('risk')} why={say('risk.what')}>
      <Rows
        question={risks}
        none={say('risk.none')}
        caption={say('risk')}
        keyOf={({ thief, takes }) => `${thief} ${takes}`}
        columns={[
          { title: say('risk.thief'), cell: ({ thief }) => named('thief', thief) },
          { title: say('risk.takes'), cell: ({ takes }) => named('loot', takes) },
          { title: say('risk.most'), is_figure: true, cell: (risk) => <Most {...risk} /> },
          {
            title: say('risk.within'),
            cell: ({ within }) => say(within === 'day' ? 'risk.day' : 'risk.once'),
          },
          { title: say('risk.bound'), cell: ({ bound }) => named('bound', bound) },
        ]}
      />
    </Block>
  )
}

const Most = ({ most_sun }: Row<'risk'>) =>
  most_sun === null ? say('risk.no_end') : <Money trx={trx(most_sun)} />
