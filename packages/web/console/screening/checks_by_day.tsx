// How many checks there were on each day, by level.

import { Block } from '../../shared/parts/block.tsx'
import { count, named, say } from '../../shared/words/words.ts'
import { type Row, useRun } from '../calls/calls.ts'
import { Rows } from '../calls/rows.tsx'

const LEVELS = ['low', 'medium', 'high'] as const
type Day = Row<'aml days'>

export function ChecksByDay() {
  const days = useRun('aml days', {})
  return (
    <Block title={say('screening.days')} why={say('screening.days.why')}>
      <Rows
        question={days}
        none={say('screening.no_checks')}
        caption={say('screening.days')}
        keyOf={({ day }) => day}
        columns={[
          { title: say('screening.day'), cell: ({ day }) => day },
          ...LEVELS.map((level) => ({
            title: named('level', level),
            is_figure: true,
            cell: (day: Day) => count(day[level]),
          })),
          ...(['failed', 'open'] as const).map((state) => ({
            title: named('state', state),
            is_figure: true,
            cell: (day: Day) => count(day[state]),
          })),
        ]}
      />
    </Block>
  )
}
