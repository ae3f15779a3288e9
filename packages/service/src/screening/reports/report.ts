// A check as a person reads it: one page, complete in itself (no scripts, nothing from elsewhere),
// made for the screen and for paper. What was found is from the evidence, whose hash is on it; who
// asked, what the lists were and what the rules say in words is from the rows beside it, and the
// page says so. Everything in it came from outside once, so all text is escaped.

import type { Language } from 'penstock-web/build/languages.ts'
import { escaped } from '../../lib/html.ts'
import type { Evidence } from '../engine/evidence.ts'
import type { ReportContext } from './context.ts'
import { countedPart, type DirectionFacts, sentPart } from './directions.ts'
import { bars, factorPart, pathPart, type RiskFactor } from './money.ts'
import { type ActedFact, rulesPart } from './rules.ts'
import { STYLE } from './style.ts'
import {
  amountText,
  type Edition,
  type FactorFact,
  folded,
  type LabelFact,
  said,
  type TransferFact,
  table,
} from './text.ts'
import { verdictCard } from './verdict.ts'
import { categoryName, type Words, wordsOf } from './words.ts'

export type Facts = DirectionFacts & {
  engine: string
  answers: Answer[]
  asked: {
    type: string
    network: string
    address: string
    hash: string | null
    direction: string | null
    at: string
  }
  index: { first_block: string; last_block: string; last_block_time: string | null }
  label_set: string
  lists: { list: string; title: string; entries: string; loaded_at: string; sha256: string }[]
  notes: string[]
  policy: { name: string; version: string }
  screened: {
    address: string
    labels: LabelFact[]
    frozen_by_issuer: boolean
    in_force: { category: string; terminal: boolean } | null
  }
  entries: { kind: string; reason: string }[]
  transfers: TransferFact[]
  destinations: { sent_usd: string; to: Record<string, string> } | null
  factors: FactorFact[]
  floors: ActedFact[]
  blacklisted_by: string[]
  /** What the newest rows said of the address; null in answers of the engine before. */
  bars: {
    label_set: string
    labels: { list: string; entity: string; reference: string }[]
    frozen: { token: string; block: string }[]
    /** Of answers of this engine. */
    issuers?: { token: string; said: string; at: string | null }[]
  } | null
  result: {
    base_score?: string
    raw_score?: string
    risk_score: string
    risk_level: string
    blacklist: boolean
    risk_factors: RiskFactor[]
  }
}

/** The report as JSON: the evidence itself, with the check's id and the hash. */
export function reportJson({ check_id, canonical, sha256 }: Evidence): string {
  const id = JSON.stringify(check_id)
  return `{"check_id":${id},"evidence_sha256":"${sha256}","evidence":${canonical}}`
}

/** The report as a page of HTML. Where providers were asked too, it is about what our own engine
 *  found, with their answers beside it; where it was not asked at all, about the answer that
 *  counts. */
export function reportPage(
  evidence: Evidence,
  context: ReportContext,
  language: Language = 'en',
): string {
  const { check_id, canonical } = evidence
  const facts = factsOf(canonical)
  const words = wordsOf(language)
  const { say } = words
  const edition = { words, decimals: context.decimals }
  const { asked, result } = facts
  const title = say('title', {
    subject: escaped((asked.type === 'hash' ? asked.hash : null) ?? asked.address),
  })
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
${headPart(check_id, facts, context, words)}
${verdictCard(facts, context.levels, words)}
${answerPart(facts, words)}
${blacklistPart(facts, words)}
${entryPart(facts, words)}
${transferPart(facts, edition)}
<section>
<h2>${say('shares')}</h2>
${bars(result.risk_factors, facts.factors, words)}
${ownLine(facts, words)}
</section>
${pathPart(facts.factors, edition)}
${factorPart(facts.factors, edition)}
${countedPart(facts, words)}
${destinationPart(facts, words)}
${sentPart(facts, words)}
${rulesPart(facts.floors, facts.index.last_block === '' ? undefined : context.policy, words)}
${labelPart(facts, words)}
${sourcePart(facts, context, words)}
${limitPart(facts, edition)}
${footPart(evidence, facts, words)}
</main>
</body>
</html>
`
}

function headPart(check_id: string, { asked, screened }: Facts, context: ReportContext, w: Words) {
  const { network, direction, hash, at } = asked
  const way = direction === null ? [] : [escaped(w.nameOf('direction', direction) ?? direction)]
  const by = askerText(context, w)
  const line = [escaped(network), ...way, w.say('asked', { at: escaped(at) }) + by]
  return `<header>
<p class="kind">${w.say('kind', { id: escaped(check_id) })}</p>
<h1>${escaped(screened.address)}</h1>
<p>${line.join(' &middot; ')}</p>
${hash ? `<p class="hash">${escaped(hash)}</p>` : ''}
<p class="kind hint">${w.say('print')}</p>
</header>`
}

/** By which hash it is known, and how anybody works it out again. */
function footPart({ check_id, sha256 }: Evidence, { engine, policy, label_set }: Facts, w: Words) {
  const [id, version] = [escaped(check_id), escaped(policy.version)]
  const made_by = { engine: escaped(engine), policy: escaped(policy.name), version }
  const labels = label_set === '' ? '' : w.say('engine.labels', { set: escaped(label_set) })
  const writes = {
    command: `<code>penstock-admin aml report ${id} --evidence FILE</code>`,
    sum: '<code>sha256sum</code>',
  }
  const replays = { command: `<code>penstock-admin aml replay ${id}</code>` }
  return `<footer>
<p>${w.say('engine', made_by)} ${labels}</p>
<p>${w.say('evidence')}: <span class="hash">${escaped(sha256)}</span></p>
<p>${w.say('check')}: ${w.say('check.evidence', writes)} ${w.say('check.replay', replays)}
${w.say('check.outside')}</p>
</footer>`
}

type Answer = {
  name: string
  score: string | null
  level: string | null
  blacklist: boolean
  facts: unknown
}

/** The facts of an answer, of our own engine or of a provider. */
function factsOf(evidence: string): Facts {
  const given = JSON.parse(evidence) as Partial<Facts> & { answers?: Answer[] }
  const embedded = given.answers?.find(({ name }) => name === 'embedded')?.facts as
    | Partial<Facts>
    | undefined
  const asked = given.asked!
  return {
    ...NOTHING_FOUND,
    screened: { address: asked.address, labels: [], frozen_by_issuer: false, in_force: null },
    ...embedded,
    ...given,
    answers: given.answers ?? [],
  } as Facts
}

/** What a provider's answer does not have. */
const NOTHING_FOUND = {
  index: { first_block: '', last_block: '', last_block_time: null },
  label_set: '',
  lists: [],
  notes: [],
  factors: [],
  floors: [],
  blacklisted_by: [],
  bars: null,
  entries: [],
  transfers: [],
  destinations: null,
}

function askerText({ asked_by }: ReportContext, { say }: Words): string {
  if (!asked_by) return ''
  const { customer_name, customer_id } = asked_by
  const name = customer_name === null ? say('asked.customer') : escaped(customer_name)
  return ` ${say('asked.by', { name, id: escaped(customer_id) })}`
}

function answerPart({ answers }: Facts, { say, nameOf }: Words): string {
  if (answers.length === 0) return ''
  const rows = answers.map(({ name, score, level, blacklist }) => {
    const points = score === null ? say('no_score') : escaped(score)
    const how = level ? `, ${escaped(nameOf('level', level) ?? level)}` : ''
    return `<li>${escaped(name)}: ${points}${how}${blacklist ? `, ${say('blacklisted')}` : ''}</li>`
  })
  return `<section><h2>${say('provider_answer')}</h2><ul>${rows.join('')}</ul></section>`
}

function blacklistPart({ blacklisted_by, bars }: Facts, { say, nameOf }: Words): string {
  if (blacklisted_by.length === 0) return ''
  const reasons = blacklisted_by.map((reason) => escaped(nameOf('barred', reason) ?? reason))
  const set = escaped(bars?.label_set ?? '')
  const rows = [
    ...(bars?.labels ?? []).map(({ list, entity, reference }) => {
      const label = { list: escaped(list), entity: escaped(entity), reference: escaped(reference) }
      return say('blacklist.label', { ...label, set })
    }),
    ...(bars?.frozen ?? []).map(({ token, block }) =>
      say('blacklist.frozen', { token: escaped(token), block: escaped(block) }),
    ),
    ...(bars?.issuers ?? []).flatMap(({ token, said, at }) =>
      said === 'frozen'
        ? say('blacklist.issuer', { token: escaped(token), at: escaped(at ?? '') })
        : [],
    ),
  ]
  const items = [...reasons, ...rows].map((one) => `<li>${one}</li>`).join('')
  return `<section><h2>${say('blacklist')}</h2><ul>${items}</ul></section>`
}

function entryPart({ entries }: Facts, { say }: Words): string {
  if (entries.length === 0) return ''
  const rows = entries.map(({ kind, reason }) => `<li>${escaped(kind)}: ${escaped(reason)}</li>`)
  return `<section><h2>${say('decided')}</h2><ul>${rows.join('')}</ul></section>`
}

function transferPart({ transfers }: Facts, edition: Edition): string {
  if (transfers.length === 0) return ''
  const { say } = edition.words
  const rows = transfers.map(({ block, from, to, asset, amount }) => [
    escaped(block),
    `<span class="hash">${escaped(from)}</span>`,
    `<span class="hash">${escaped(to)}</span>`,
    amountText(amount, asset, edition),
  ])
  const columns = [say('block'), say('from'), say('to'), say('amount')]
  return `<section><h2>${say('transfers')}</h2>${table(columns, rows)}</section>`
}

function destinationPart({ destinations }: Facts, words: Words): string {
  const to = Object.entries(destinations?.to ?? {})
  if (destinations === null || to.length === 0) return ''
  const rows = to.map(
    ([category, usd]) => `<li>${categoryName(words, category)}: ${escaped(usd)} USD</li>`,
  )
  const of_all = words.say('destinations.of', { usd: escaped(destinations.sent_usd) })
  return `<section><h2>${words.say('destinations')}</h2>
<p>${of_all}</p><ul>${rows.join('')}</ul></section>`
}

/** Said where the bars show something else than the table. */
function ownLine({ screened: { in_force }, factors }: Facts, words: Words): string {
  if (!in_force?.terminal || (factors.length === 1 && factors[0]!.category === in_force.category))
    return ''
  const category = categoryName(words, in_force.category)
  return `<p>${words.say('own_label', { category })}</p>`
}

function labelPart({ screened }: Facts, words: Words): string {
  if (screened.labels.length === 0 && !screened.frozen_by_issuer) return ''
  const { say } = words
  const rows = screened.labels.map((label) => {
    const category = categoryName(words, label.category)
    const [entity, confidence] = [escaped(label.entity), escaped(label.confidence)]
    return `<li>${say('confidence', { category, entity, by: said(label), confidence })}</li>`
  })
  const frozen = screened.frozen_by_issuer ? `<li>${say('frozen')}</li>` : ''
  return `<section><h2>${say('labels')}</h2><ul>${rows.join('')}${frozen}</ul></section>`
}

function sourcePart({ lists, notes, index }: Facts, context: ReportContext, words: Words): string {
  if (index.last_block === '') return ''
  const { say } = words
  const rows = lists.map(({ list, title, entries, loaded_at, sha256 }) => {
    const source = context.lists?.find((one) => one.list === list && one.sha256 === sha256)
    const kept = source
      ? [`<span class="hash">${escaped(source.origin)}</span>`, escaped(source.licence)]
      : [say('amount.not_kept'), '']
    const count = Number(entries).toLocaleString(words.language)
    return [
      escaped(title),
      escaped(count),
      escaped(loaded_at),
      ...(context.lists ? kept : []),
      `<span class="hash">${escaped(sha256)}</span>`,
    ]
  })
  const read_from = context.lists ? [say('read_from'), say('licence')] : []
  const columns = [say('list'), say('addresses'), say('loaded'), ...read_from, say('source_sha')]
  const figures = rows.length === 0 ? `<p>${say('no_lists')}</p>` : table(columns, rows)
  const remarks = notes.map((note) => `<li lang="en">${escaped(note)}</li>`)
  const blocks = { first: escaped(index.first_block), last: escaped(index.last_block) }
  const noted = remarks.length === 0 ? '' : `<h3>${say('notes')}</h3><ul>${remarks.join('')}</ul>`
  return folded(say('rests'), `<p>${say('rests.blocks', blocks)}</p>${figures}${noted}`)
}

/** What a reader might take for granted and the screening did not do. */
function limitPart({ index, asked, factors }: Facts, { words, decimals }: Edition): string {
  if (index.last_block === '') return ''
  const { say, shared } = words
  const known = escaped([...decimals.keys()].join(', ')) || say('limits.assets_above')
  const limits = [
    shared('limit_blocks', { first: escaped(index.first_block), last: escaped(index.last_block) }),
    say('limits.assets', { assets: known, network: escaped(asked.network) }),
    shared('limit_owners'),
    shared('limit_services'),
    ...(factors.some(({ path }) => path.length === 0) ? [shared('limit_ways')] : []),
  ]
  const items = limits.map((one) => `<li>${one}</li>`)
  return `<section><h2>${say('limits')}</h2><ul>${items.join('')}</ul></section>`
}
