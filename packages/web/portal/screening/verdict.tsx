// The first thing that a check says: the score on its dial, the level, and why in one sentence.

import type { ComponentChildren } from 'preact'
import { DIAL, dialOf, type Levels } from '../../shared/reports/dial.ts'
import { verdictOf } from '../../shared/reports/verdict.ts'
import { named, say } from '../../shared/words/words.ts'
import { type Evidence, percentText } from './evidence.ts'
import { type Check, CheckOutcome } from './level.tsx'

type VerdictProps = {
  check: Check
  evidence: Evidence
  levels: Levels | null
  /** The buttons of the report. */
  children: ComponentChildren
}

export const Verdict = ({ check, evidence, levels, children }: VerdictProps) => (
  <section class="panel verdict">
    <Dial score={check.risk_score ?? '0'} levels={levels} />
    <div class="stack">
      <p class="outcome" role="status">
        <CheckOutcome check={check} has_dial />
      </p>
      <p>{whyText(evidence)}</p>
      {children}
    </div>
  </section>
)

/** The bands say what the word of the level says. */
function Dial({ score, levels }: { score: string; levels: Levels | null }) {
  const { bands, hand, ticks } = dialOf(Number(score), levels)
  return (
    <svg
      class="dial"
      viewBox={`0 0 ${DIAL.width} ${DIAL.height}`}
      width={DIAL.width}
      role="img"
      aria-label={say('check.score', { score })}
    >
      {bands.map(({ level, d }) => (
        <path key={level} class={`band ${level}`} d={d} stroke-width={DIAL.thick} />
      ))}
      <path class="hand" d={hand} />
      {ticks.map(({ text, x, y }) => (
        <text key={text} class="tick" x={x} y={y} text-anchor="middle">
          {text}
        </text>
      ))}
      <text class="number" x={DIAL.width / 2} y={98} text-anchor="middle">
        {score}
      </text>
    </svg>
  )
}

const categoryText = (name: string) => named('category', name)

/** Why it has this score: the strongest reason alone. */
function whyText(evidence: Evidence): string {
  const verdict = verdictOf(evidence)
  switch (verdict.kind) {
    case 'barred':
      return say('why.barred', { reason: named('barred', verdict.reason) })
    case 'allowed':
      return say('why.allowed', { points: verdict.points })
    case 'rule': {
      const { points, category } = verdict
      const rule = named('rule', verdict.rule)
      if (category === null) return say('why.rule_alone', { points, rule })
      return say('why.rule', { points, rule, category: categoryText(category) })
    }
    case 'own':
      return say('why.own', { category: categoryText(verdict.category) })
    case 'source': {
      const share = percentText(Number(verdict.share))
      return say('why.source', { share, category: categoryText(verdict.category) })
    }
    case 'nothing':
      return say('why.nothing')
  }
}
