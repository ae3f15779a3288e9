// How a check has ended, in a word, with a shape and a colour.

import type { Result } from 'penstock-sdk'
import { type Mark, Shape, State } from '../../shared/parts/state.tsx'
import { named, say } from '../../shared/words/words.ts'

export type Check = Result<'/v1/aml-checks/check'>

const MARKS: Readonly<Record<string, Mark>> = { low: 'done', medium: 'look', high: 'failed' }

/** `▲ medium risk`. */
const Level = ({ level }: { level: string }) => (
  <span class="state">
    <Shape mark={MARKS[level] ?? 'unknown'} /> {named('level', level)}
  </span>
)

/** Its level and score, else the state it is in. `has_dial`: the score stands beside it. */
export function CheckOutcome({ check, has_dial = false }: { check: Check; has_dial?: boolean }) {
  const { status, risk_level, risk_score, blacklist } = check
  if (risk_level === null) return <State state={status} />
  return (
    <>
      <Level level={risk_level} /> {!has_dial && <span class="figure">{risk_score}</span>}
      {blacklist && <strong> {say('check.blacklist')}</strong>}
    </>
  )
}
