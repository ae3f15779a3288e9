// Of a report: what of the money that was received is new, and where the money that was sent has
// ended. Answers of policies that look at neither do not have it.

import { escaped } from '../../lib/html.ts'
import { categoryText, percent } from './text.ts'

type ShareFact = Record<string, { share: string; usd: string }>

export type DirectionFacts = {
  /** By what is counted. */
  counted?: Partial<Record<'net_new' | 'recent', ShareFact>>
  /** Null: it was looked for, and not known yet. */
  sent?: { last_block: string; ended: ShareFact; direct: ShareFact } | null
}

const largestFirst = (facts: ShareFact) =>
  Object.entries(facts).sort(([, a], [, b]) => Number(b.share) - Number(a.share))

/** The new part of what was received, which the score goes by, and what of that is recent. */
export function countedPart({ counted = {} }: DirectionFacts): string {
  const { net_new = {}, recent = {} } = counted
  const rows = largestFirst(net_new).map(([category, { share, usd }]) => {
    const lately = recent[category]
    return `<tr><td>${categoryText(category)}</td><td>${percent(share)}</td>
<td>${escaped(usd)}</td><td>${lately ? percent(lately.share) : ''}</td>
<td>${escaped(lately?.usd ?? '')}</td></tr>`
  })
  if (rows.length === 0) return ''
  return `<section><h2>What of it is new</h2>
<p>Money that had been here before and came back does not count again.</p>
<table><thead><tr><th>Category</th><th>Share</th><th>USD</th><th>Share of what is recent</th>
<th>USD</th></tr></thead><tbody>${rows.join('')}</tbody></table></section>`
}

/** Where what was sent has ended, straight or through others. */
export function sentPart({ sent }: DirectionFacts): string {
  if (!sent) return ''
  const rows = largestFirst(sent.ended).map(
    ([category, { share, usd }]) =>
      `<tr><td>${categoryText(category)}</td><td>${percent(share)}</td><td>${escaped(usd)}</td>
<td>${escaped(sent.direct[category]?.usd ?? '')}</td></tr>`,
  )
  const table =
    rows.length === 0
      ? '<p>Nothing was sent by then.</p>'
      : `<table><thead><tr><th>Category</th><th>Share</th><th>USD</th>
<th>USD sent there straight</th></tr></thead><tbody>${rows.join('')}</tbody></table>`
  return `<section><h2>Where what it sent has ended</h2>
<p>As of block ${escaped(sent.last_block)}; what was passed on to nobody is unidentified.</p>
${table}</section>`
}
