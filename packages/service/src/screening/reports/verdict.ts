// The first thing that a report says: the score on its dial, the level, and why in one sentence.

import { DIAL, dialOf, type Levels } from 'penstock-web/shared/reports/dial.ts'
import { type VerdictFacts, verdictOf } from 'penstock-web/shared/reports/verdict.ts'
import { escaped } from '../../lib/html.ts'
import { ruleCategory, ruleWords } from './rules.ts'
import { percent } from './text.ts'
import { categoryName, type Words } from './words.ts'

export type CardFacts = VerdictFacts & {
  result: { risk_level: string; blacklist: boolean }
  index: { last_block: string; last_block_time: string | null }
}

export function verdictCard(facts: CardFacts, levels: Levels | undefined, words: Words): string {
  const { risk_level, blacklist } = facts.result
  const { say, nameOf } = words
  const level = escaped(nameOf('level', risk_level) ?? risk_level)
  const barred = blacklist ? ` &middot; ${say('blacklisted')}` : ''
  return `<section class="score">
${dial(facts, levels, words)}
<div><p class="level ${escaped(risk_level)}">${level}${barred}</p>
<p class="why">${whyText(facts, words)}</p>
<p class="kind">${meanLine(facts, words)} ${foundLine(facts, words)}</p></div>
</section>`
}

/** The bands say what the colour of the level says. */
function dial({ result }: CardFacts, levels: Levels | undefined, { shared }: Words): string {
  const score = escaped(result.risk_score)
  const { bands, hand, ticks } = dialOf(Number(result.risk_score), levels ?? null)
  const drawn = bands.map(({ level, d }) => `<path class="${level}" d="${d}"/>`).join('')
  const marks = ticks.map(({ text, x, y }) => `<text class="tick" x="${x}" y="${y}">${text}</text>`)
  return `<svg class="dial" viewBox="0 0 ${DIAL.width} ${DIAL.height}" role="img"
aria-label="${shared('score', { score })}">${drawn}${marks.join('')}
<path class="hand" d="${hand}"/>
<text class="number" x="${DIAL.width / 2}" y="98">${score}</text></svg>`
}

function whyText(facts: CardFacts, words: Words): string {
  const { say, nameOf } = words
  const verdict = verdictOf(facts)
  switch (verdict.kind) {
    case 'barred':
      return say('why.barred', {
        reason: escaped(nameOf('barred', verdict.reason) ?? verdict.reason),
      })
    case 'allowed':
      return say('why.allowed', { points: escaped(verdict.points) })
    case 'rule':
      return say('why.rule', {
        points: escaped(verdict.points),
        words: ruleWords(words, verdict.rule),
        category: ruleCategory(words, verdict.category),
      })
    case 'own':
      return say('why.own', { category: categoryName(words, verdict.category) })
    case 'source': {
      const category = categoryName(words, verdict.category)
      return say('why.source', { share: percent(verdict.share), category })
    }
    case 'nothing':
      return say('why.nothing')
  }
}

function meanLine({ result }: CardFacts, { say }: Words): string {
  const { base_score, raw_score, risk_score, blacklist } = result
  if (base_score === undefined || raw_score === undefined) return ''
  const base = escaped(base_score)
  if (raw_score !== risk_score) return say('allowed.kept', { base, raw: escaped(raw_score) })
  return say(blacklist || raw_score === base_score ? 'mean' : 'mean.raised', { base })
}

function foundLine({ index: { last_block, last_block_time } }: CardFacts, { say }: Words): string {
  if (last_block === '') return ''
  const at = last_block_time ? ` (${escaped(last_block_time)})` : ''
  return say('found', { block: escaped(last_block), at })
}
