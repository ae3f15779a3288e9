// The rules of a policy in words, with their thresholds, and which of them acted.

import { escaped } from '../../lib/html.ts'
import type { Floor, Policy } from '../engine/policy.ts'
import { categoryText } from './text.ts'

/** `of`: what is counted, where that is not all that was received. */
export type ActedFact = { rule: string; category: string | null; points: string; of?: string }

const COUNTED: Readonly<Record<string, string>> = {
  net_new: ', of what is new',
  recent: ', of what is recent',
}

/** What the money did for a rule to apply. */
const RULES = {
  direct: 'came straight from one severe category',
  indirect: 'came from one severe category through others',
  combined: 'came from severe categories together',
  direct_amount: 'came straight from one severe category, whatever the share',
  indirect_amount: 'came from one severe category through others, whatever the share',
  destination: 'was sent by the address to one severe category',
  destination_indirect: 'was sent by the address and ended, through others, in one severe category',
} as const

const OWN_LABEL = 'the address itself has a label of a high-risk category'

/** The rules that acted, and all rules of the policy with their thresholds. */
export function rulesPart(acted: readonly ActedFact[], policy: Policy | undefined): string {
  const raised = acted.map(({ rule, category, points, of }) => {
    const words = Object.hasOwn(RULES, rule) ? `money ${RULES[rule as keyof typeof RULES]}` : rule
    const sentence = rule === 'own_label' ? OWN_LABEL : words
    const named = category === null ? '' : ` (${categoryText(category)})`
    const counted = COUNTED[of ?? ''] ?? ''
    return `<li>At least ${escaped(points)} points: ${escaped(sentence)}${named}${counted}</li>`
  })
  const part =
    raised.length === 0
      ? ''
      : `<section><h2>Rules that raise the score</h2><ul>${raised.join('')}</ul></section>`
  return part + (policy === undefined ? '' : policyPart(policy))
}

function policyPart(policy: Policy): string {
  const rules = (Object.keys(RULES) as (keyof typeof RULES)[]).flatMap((name) =>
    policy[name].map((floor) => `<li>${ruleText(floor, RULES[name])}</li>`),
  )
  const { medium_from, high_from, full_confidence, severe } = policy
  return `<section><h2>What the rules are</h2>
<p>The score is the mean of the categories' weights, weighted by their shares of the money, and is
raised to the highest rule below that applies. Medium risk begins at ${medium_from} points and high
risk at ${high_from}. A match with an official list, a token issuer's freeze list or a deny entry
makes it 100.</p>
<ul>${rules.join('')}<li>The weight of the category: ${escaped(OWN_LABEL)}, in full from a
confidence of ${full_confidence} on</li></ul>
<p>Severe categories: ${severe.map(categoryText).join(', ')}.</p></section>`
}

function ruleText({ share_bp, usd, points }: Floor, words: string): string {
  const share = share_bp === 0 ? '' : `${(share_bp / 100).toFixed(2)} % `
  const both = share !== '' && usd > 0 ? 'and ' : ''
  const amount = usd === 0 ? '' : `${usd.toLocaleString('en')} USD `
  const least = `${share}${both}${amount}`
  return `At least ${points} points: at least ${least}of the money ${escaped(words)}`
}
