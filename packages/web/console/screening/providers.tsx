// The providers of screening answers: what each was asked and answered, where it fails, and why.

import { Block } from '../../shared/parts/block.tsx'
import { Shape } from '../../shared/parts/state.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { count, named, say } from '../../shared/words/words.ts'
import { type Row, useRun } from '../calls/calls.ts'
import { Rows } from '../calls/rows.tsx'

type Provider = Row<'aml providers'>

export function Providers() {
  const providers = useRun(
    'aml providers',
    {},
    { patch: (known, { type }) => (type === 'tick' ? 'again' : known) },
  )
  return (
    <Block title={say('providers')} why={say('providers.why')}>
      <Rows
        question={providers}
        none={say('providers.none')}
        caption={say('providers')}
        keyOf={({ name }) => name}
        columns={COLUMNS()}
      />
    </Block>
  )
}

const COLUMNS = () => [
  { title: say('name'), cell: ({ name }: Provider) => <code>{name}</code> },
  { title: say('providers.state'), cell: (one: Provider) => <StateNow {...one} /> },
  {
    title: say('providers.hour'),
    cell: ({ asked_hour, answered_hour, failed_hour }: Provider) =>
      windowText(asked_hour, answered_hour, failed_hour),
  },
  {
    title: say('providers.day'),
    cell: ({ asked_day, answered_day, failed_day }: Provider) =>
      windowText(asked_day, answered_day, failed_day),
  },
  {
    title: say('providers.quota'),
    is_figure: true,
    cell: ({ quota_day }: Provider) => count(quota_day),
  },
  {
    title: say('last_answer'),
    cell: ({ answered_at }: Provider) =>
      answered_at === null ? say('never') : <Time at={answered_at} relative />,
  },
  {
    title: say('last_error'),
    cell: ({ failed_at, failure, error }: Provider) =>
      failed_at === null ? (
        say('none')
      ) : (
        <>
          {named('failure', failure!)}
          {error && `: ${error}`}, <Time at={failed_at} relative />
        </>
      ),
  },
]

const windowText = (asked: number, answered: number, failed: number) =>
  say('providers.window', { asked, answered, failed })

/** Whether it can be asked, and is. */
function StateNow({ processes, left_alone, in_policy, failed_hour }: Provider) {
  if (processes === 0)
    return (
      <>
        <Shape mark={in_policy ? 'failed' : 'look'} /> {say('providers.no_access')}
      </>
    )
  if (left_alone > 0)
    return (
      <>
        <Shape mark="failed" /> {say('providers.left_alone', { n: left_alone })}
      </>
    )
  if (!in_policy) return <>{say('providers.not_in_policy')}</>
  return (
    <>
      <Shape mark={failed_hour > 0 ? 'look' : 'done'} /> {say('providers.asked')}
    </>
  )
}
