// The rules of a policy in words, with their thresholds, and which of them acted.

import { escaped } from '../../lib/html.ts'
import type { Floor, Policy } from '../engine/policy.ts'
import { folded } from './text.ts'
import { categoryName, type Words } from './words.ts'

/** `of`: what is counted, where that is not all that was received. */
export type ActedFact = { rule: string; category: string | null; points: string; of?: string }

/** Rules that act by the money. */
const RULES = [
  'direct',
  'indirect',
  'combined',
  'direct_amount',
  'indirect_amount',
  'destination',
  'destination_indirect',
] as const
const NAMED = [...RULES, 'own_label'] as const

/** The sentence of a rule; the code of a rule that is not known here. HTML. */
export function ruleWords({ say }: Words, rule: string): string {
  const name = NAMED.find((one) => one === rule)
  return name === undefined ? escaped(rule) : say(`rule.${name}`)
}

/** The category of a rule, in brackets; nothing where it is of several together. */
export const ruleCategory = (words: Words, category: string | null): string =>
  category === null ? '' : ` (${categoryName(words, category)})`

/** The rules that acted, and all rules of the policy with their thresholds. */
export function rulesPart(
  acted: readonly ActedFact[],
  policy: Policy | undefined,
  words: Words,
): string {
  const { say } = words
  const raised = acted.map(({ rule, category, points, of }) => {
    const counted = of === 'net_new' || of === 'recent' ? say(`rule.${of}`) : ''
    return `<li>${say('rule.acted', {
      points: escaped(points),
      words: ruleWords(words, rule),
      category: ruleCategory(words, category),
      counted,
    })}</li>`
  })
  const part =
    raised.length === 0
      ? ''
      : `<section><h2>${say('rules')}</h2><ul>${raised.join('')}</ul></section>`
  return part + (policy === undefined ? '' : policyPart(policy, words))
}

function policyPart(policy: Policy, words: Words): string {
  const { say } = words
  const rules = RULES.flatMap((name) =>
    policy[name].map((floor) => `<li>${ruleText(floor, ruleWords(words, name), words)}</li>`),
  )
  const { medium_from, high_from, full_confidence, severe } = policy
  const own = { words: say('rule.own_label'), confidence: String(full_confidence) }
  const categories = severe.map((one) => categoryName(words, one)).join(', ')
  return folded(
    say('policy'),
    `<p>${say('policy.sentence', { medium: String(medium_from), high: String(high_from) })}</p>
<ul>${rules.join('')}<li>${say('policy.own', own)}</li></ul>
<p>${say('policy.severe', { categories })}</p>`,
  )
}

function ruleText({ share_bp, usd, points }: Floor, rule: string, { say, language }: Words) {
  const share = share_bp === 0 ? '' : `${(share_bp / 100).toFixed(2)} %`
  const amount = usd === 0 ? '' : `${usd.toLocaleString(language)} USD`
  const both = share !== '' && amount !== ''
  const least = both ? say('rule.least_both', { share, amount }) : `${share}${amount} `
  return say('rule.least', { points: String(points), least, words: rule })
}
