// What is kept for how long, how old the oldest of it is, and whether what is to be deleted is.

import { Block } from '../../shared/parts/block.tsx'
import { Shape } from '../../shared/parts/state.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { named, say } from '../../shared/words/words.ts'
import { type Row, useRun } from '../calls/calls.ts'
import { Rows } from '../calls/rows.tsx'

type Rule = Row<'retention list'>

/** What is old is deleted now and then: each hour where that is seldom. */
const OVERDUE_USUAL_SECONDS = 2 * 3_600
const DAY_SECONDS = 86_400

export function Retention() {
  const rules = useRun('retention list', {})
  return (
    <Block title={say('retention')} why={say('retention.why')}>
      <Rows
        question={rules}
        none={say('none')}
        caption={say('retention')}
        keyOf={({ what }) => what}
        columns={[
          { title: say('retention.what'), cell: ({ what }) => named('kept', what) },
          {
            title: say('retention.kept'),
            cell: ({ kept_days: n }) =>
              n === null ? say('retention.for_ever') : say('retention.days', { n }),
          },
          {
            title: say('retention.oldest'),
            cell: ({ oldest_at }) =>
              oldest_at === null ? say('none') : <Time at={oldest_at} relative />,
          },
          { title: say('retention.deleted'), cell: (rule) => <Deleted {...rule} /> },
        ]}
      />
    </Block>
  )
}

function Deleted({ kept_days, overdue_seconds }: Rule) {
  if (kept_days === null) return <>{say('retention.never')}</>
  if ((overdue_seconds ?? 0) <= OVERDUE_USUAL_SECONDS)
    return (
      <>
        <Shape mark="done" /> {say('retention.up_to_date')}
      </>
    )
  return (
    <>
      <Shape mark="look" />{' '}
      {say('retention.overdue', { n: Math.ceil(overdue_seconds! / DAY_SECONDS) })}
    </>
  )
}
