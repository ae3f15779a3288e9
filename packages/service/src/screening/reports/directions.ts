// Of a report: what of the money that was received is new, and where the money that was sent has
// ended. Answers of policies that look at neither do not have it.

import { escaped } from '../../lib/html.ts'
import { folded, percent, table } from './text.ts'
import { categoryName, type Words } from './words.ts'

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
export function countedPart({ counted = {} }: DirectionFacts, words: Words): string {
  const { net_new = {}, recent = {} } = counted
  const rows = largestFirst(net_new).map(([category, { share, usd }]) => {
    const lately = recent[category]
    return [
      categoryName(words, category),
      percent(share),
      escaped(usd),
      lately ? percent(lately.share) : '',
      escaped(lately?.usd ?? ''),
    ]
  })
  if (rows.length === 0) return ''
  const { say } = words
  const columns = [say('category'), say('share'), 'USD', say('new.recent'), 'USD']
  return folded(say('new'), `<p>${say('new.sentence')}</p>${table(columns, rows)}`)
}

/** Where what was sent has ended, straight or through others. */
export function sentPart({ sent }: DirectionFacts, words: Words): string {
  if (!sent) return ''
  const { say } = words
  const rows = largestFirst(sent.ended).map(([category, { share, usd }]) => [
    categoryName(words, category),
    percent(share),
    escaped(usd),
    escaped(sent.direct[category]?.usd ?? ''),
  ])
  const columns = [say('category'), say('share'), 'USD', say('sent.straight')]
  const figures = rows.length === 0 ? `<p>${say('sent.none')}</p>` : table(columns, rows)
  const as_of = say('sent.sentence', { block: escaped(sent.last_block) })
  return folded(say('sent'), `<p>${as_of}</p>${figures}`)
}
