// A check as a person reads it: one page, complete in itself (no scripts, nothing from elsewhere),
// made for the screen and for paper. What was found is from the evidence, whose hash is on it; who
// asked, what the lists were and what the rules say in words is from the rows beside it, and the
// page says so. Everything in it came from outside once, so all text is escaped.

import { escaped } from '../../lib/html.ts'
import type { Evidence } from '../engine/evidence.ts'
import type { ReportContext } from './context.ts'
import { countedPart, type DirectionFacts, sentPart } from './directions.ts'
import { bars, factorTable, pathPart } from './money.ts'
import { type ActedFact, rulesPart } from './rules.ts'
import {
  amountText,
  categoryText,
  type FactorFact,
  type LabelFact,
  said,
  type TransferFact,
} from './text.ts'

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
    risk_factors: { name: string; label: string; group: string; score: string }[]
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
export function reportPage(evidence: Evidence, context: ReportContext): string {
  const { check_id, canonical, sha256 } = evidence
  const facts = factsOf(canonical)
  const { asked, result } = facts
  const title = `Screening of ${asked.type === 'hash' ? asked.hash : asked.address}`
  const direction = asked.direction ? ` &middot; ${escaped(asked.direction)}` : ''
  const blacklisted = result.blacklist ? ' &middot; <strong>blacklisted</strong>' : ''
  const labels = facts.label_set === '' ? '' : `, label set ${escaped(facts.label_set)}`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<header>
<p class="kind">AML screening ${escaped(check_id)}</p>
<h1>${escaped(facts.screened.address)}</h1>
<p>${escaped(asked.network)} &middot; ${escaped(asked.type)}${direction}
&middot; asked ${escaped(asked.at)}${askerText(context)}</p>
${asked.hash ? `<p class="hash">${escaped(asked.hash)}</p>` : ''}
</header>
<section class="score ${escaped(result.risk_level)}">
<p class="number">${escaped(result.risk_score)}</p>
<p><strong>${escaped(result.risk_level)} risk</strong>${blacklisted}<br>
${meanLine(facts)}${foundLine(facts)}</p>
</section>
${answerPart(facts)}
${blacklistPart(facts)}
${entryPart(facts)}
${transferPart(facts, context)}
<section>
<h2>Where the money is from</h2>
${bars(result.risk_factors, facts.factors)}
${ownLine(facts)}${factorTable(facts.factors, context.decimals)}
</section>
${countedPart(facts)}
${destinationPart(facts)}
${sentPart(facts)}
${rulesPart(facts.floors, facts.index.last_block === '' ? undefined : context.policy)}
${pathPart(facts.factors, context.decimals)}
${labelPart(facts)}
${sourcePart(facts, context)}
${limitPart(facts, context)}
<footer>
<p>Engine ${escaped(facts.engine)}, policy ${escaped(facts.policy.name)}
(version ${escaped(facts.policy.version)})${labels}.</p>
<p>Evidence SHA-256: <span class="hash">${escaped(sha256)}</span></p>
<p>To check it: <code>penstock-admin aml report ${escaped(check_id)} --evidence FILE</code> writes
the evidence, whose <code>sha256sum</code> is this;
<code>penstock-admin aml replay ${escaped(check_id)}</code> computes it again
from the chain and the lists of then. Who asked, the licences and origins of the lists, and the
rules in words are from the service's records beside the evidence, and not part of this sum.</p>
</footer>
</main>
</body>
</html>
`
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

const REASONS: Readonly<Record<string, string>> = {
  list: 'an official list names this address',
  issuer_freeze: "the token's issuer has frozen this address",
  denied: 'a deny entry names this address',
}

function askerText({ asked_by }: ReportContext): string {
  if (!asked_by) return ''
  const { customer_name, customer_id } = asked_by
  const name = customer_name === null ? 'customer' : escaped(customer_name)
  return ` by ${name} (${escaped(customer_id)})`
}

function meanLine({ result: { base_score, raw_score, risk_score, blacklist } }: Facts): string {
  if (base_score === undefined || raw_score === undefined) return ''
  const raised = blacklist || raw_score === base_score ? '' : ', raised by the rules below'
  const kept = `, not raised to ${escaped(raw_score)} because the address is allowed`
  return `Weighted mean ${escaped(base_score)}${raw_score === risk_score ? raised : kept}.<br>`
}

function foundLine({ index: { last_block, last_block_time } }: Facts): string {
  if (last_block === '') return ''
  const at = last_block_time ? ` (${escaped(last_block_time)})` : ''
  return `Found in what is held as of block ${escaped(last_block)}${at}.`
}

function answerPart({ answers }: Facts): string {
  if (answers.length === 0) return ''
  const rows = answers.map(({ name, score, level, blacklist }) => {
    const points = score === null ? 'no score' : escaped(score)
    return (
      `<li>${escaped(name)}: ` +
      `${points}${level ? `, ${escaped(level)}` : ''}${blacklist ? ', blacklisted' : ''}</li>`
    )
  })
  return `<section><h2>Who answered</h2><ul>${rows.join('')}</ul></section>`
}

function blacklistPart({ blacklisted_by, bars }: Facts): string {
  if (blacklisted_by.length === 0) return ''
  const reasons = blacklisted_by.map((reason) => escaped(REASONS[reason] ?? reason))
  const rows = [
    ...(bars?.labels ?? []).map(
      ({ list, entity, reference }) =>
        `${escaped(list)}: ${escaped(entity)} ${escaped(reference)} ` +
        `(label set ${escaped(bars!.label_set)})`,
    ),
    ...(bars?.frozen ?? []).map(
      ({ token, block }) => `Token ${escaped(token)}: frozen since block ${escaped(block)}`,
    ),
    ...(bars?.issuers ?? []).flatMap(({ token, said, at }) =>
      said === 'frozen'
        ? `Token ${escaped(token)}: its issuer says that the address is frozen ` +
          `(asked ${escaped(at ?? '')})`
        : [],
    ),
  ]
  const items = [...reasons, ...rows].map((one) => `<li>${one}</li>`).join('')
  return `<section><h2>Blacklist</h2><ul>${items}</ul></section>`
}

function entryPart({ entries }: Facts): string {
  if (entries.length === 0) return ''
  const rows = entries.map(({ kind, reason }) => `<li>${escaped(kind)}: ${escaped(reason)}</li>`)
  return (
    '<section><h2>What has been decided about the ' +
    `address</h2><ul>${rows.join('')}</ul></section>`
  )
}

function transferPart({ transfers }: Facts, { decimals }: ReportContext): string {
  if (transfers.length === 0) return ''
  const rows = transfers.map(
    ({ block, from, to, asset, amount }) =>
      `<tr><td>${escaped(block)}</td><td class="hash">${escaped(from)}</td>
<td class="hash">${escaped(to)}</td><td>${amountText(amount, asset, decimals)}</td></tr>`,
  )
  return `<section><h2>The transfers that were judged</h2><table><thead><tr><th>Block</th>
<th>From</th><th>To</th><th>Amount</th></tr></thead>
<tbody>${rows.join('')}</tbody></table></section>`
}

function destinationPart({ destinations }: Facts): string {
  const to = Object.entries(destinations?.to ?? {})
  if (destinations === null || to.length === 0) return ''
  const rows = to.map(
    ([category, usd]) => `<li>${categoryText(category)}: ${escaped(usd)} USD</li>`,
  )
  return `<section><h2>Where it sends to</h2>
<p>Of ${escaped(destinations.sent_usd)} USD sent in all:</p>
<ul>${rows.join('')}</ul></section>`
}

/** Said where the bars show something else than the table. */
function ownLine({ screened: { in_force }, factors }: Facts): string {
  if (!in_force?.terminal || (factors.length === 1 && factors[0]!.category === in_force.category))
    return ''
  return (
    `<p>The address has a label of its own (${categoryText(in_force.category)}), ` +
    'which counts instead of what it received.</p>'
  )
}

function labelPart({ screened }: Facts): string {
  if (screened.labels.length === 0 && !screened.frozen_by_issuer) return ''
  const rows = screened.labels.map(
    (label) =>
      `<li>${categoryText(label.category)}: ${escaped(label.entity)}, by ${said(label)}, ` +
      `confidence ${escaped(label.confidence)}</li>`,
  )
  const frozen = screened.frozen_by_issuer ? '<li>Frozen by the issuer of a token</li>' : ''
  return `<section><h2>What is said of the address</h2><ul>${rows.join('')}${frozen}</ul></section>`
}

function sourcePart({ lists, notes, index }: Facts, context: ReportContext): string {
  if (index.last_block === '') return ''
  const rows = lists.map(({ list, title, entries, loaded_at, sha256 }) => {
    const source = context.lists?.find((one) => one.list === list && one.sha256 === sha256)
    const kept = source
      ? `<td class="hash">${escaped(source.origin)}</td><td>${escaped(source.licence)}</td>`
      : '<td>not kept</td><td></td>'
    const origin = context.lists ? kept : ''
    const count = Number(entries).toLocaleString('en')
    return `<tr><td>${escaped(title)}</td><td>${escaped(count)}</td>
<td>${escaped(loaded_at)}</td>${origin}
<td class="hash">${escaped(sha256)}</td></tr>`
  })
  const read_from = context.lists ? '<th>Read from</th><th>Licence</th>' : ''
  const table =
    rows.length === 0
      ? ''
      : `<table><thead><tr><th>List</th><th>Addresses</th><th>Loaded</th>${read_from}
<th>SHA-256 of its entries</th></tr></thead><tbody>${rows.join('')}</tbody></table>`
  const remarks = notes.map((note) => `<li>${escaped(note)}</li>`)
  return `<section><h2>What this rests on</h2>
<p>Transfers of blocks ${escaped(index.first_block)} to ${escaped(index.last_block)},
and these lists:</p>${table}
<h3>Notes</h3><ul>${remarks.join('')}</ul></section>`
}

/** What a reader might take for granted and the screening did not do. */
function limitPart({ index, asked, factors }: Facts, { decimals }: ReportContext): string {
  if (index.last_block === '') return ''
  const limits = [
    `What happened before block ${escaped(index.first_block)}, ` +
      `or after block ${escaped(index.last_block)}.`,
    `Assets other than ${escaped([...decimals.keys()].join(', ') || 'those above')}, ` +
      `and networks other than ${escaped(asked.network)}.`,
    'Whether addresses that nobody has labelled belong to the same owner.',
    'Exchanges and other services inside: what they do with the money is not on the chain.',
    ...(factors.some(({ path }) => path.length === 0)
      ? ['The way back of every category: only the largest are drawn, over ten transfers at most.']
      : []),
  ]
  const items = limits.map((one) => `<li>${one}</li>`)
  return `<section><h2>What was not looked at</h2><ul>${items.join('')}</ul></section>`
}

/** The only style of the page: its policy, where it is served, names its hash. */
export const STYLE = `
:root { color-scheme: light; --low: #2f7d4f; --medium: #b7791f; --high: #b3261e }
* { box-sizing: border-box }
body { font: 15px/1.5 system-ui, sans-serif; color: #1c1c1c; background: #fff; margin: 0 }
main { max-width: 60rem; margin: 0 auto; padding: 2rem 1.5rem }
h1, h2, h3, p, li, td, th, .name, .from { overflow-wrap: anywhere; min-width: 0 }
h1 { font-size: 1.3rem; margin: .2rem 0 }
h2 { font-size: 1.1rem; margin: 2rem 0 .6rem; border-bottom: 1px solid #ddd; padding-bottom: .2rem }
h3 { font-size: 1rem; margin: 1.2rem 0 .4rem }
.kind, footer { color: #555; font-size: .85rem }
.hash, code { font-family: ui-monospace, monospace; font-size: .8rem; overflow-wrap: anywhere }
.score { display: flex; gap: 1.5rem; align-items: center; border-left: .5rem solid }
.score { padding-left: 1rem; margin-top: 1.5rem }
.score .number { font-size: 3rem; font-weight: 700; margin: 0; line-height: 1 }
.score.low { border-color: var(--low) }
.score.medium { border-color: var(--medium) }
.score.high { border-color: var(--high) }
table { border-collapse: collapse; width: 100%; font-size: .85rem; margin: .6rem 0 }
th { white-space: nowrap }
th, td { text-align: left; padding: .3rem .5rem .3rem 0; vertical-align: top }
th, td { border-bottom: 1px solid #eee }
.bars .row { display: grid; gap: .8rem; align-items: center; font-size: .85rem; padding: .15rem 0 }
.bars .row { grid-template-columns: minmax(7rem, 14rem) 1fr 4.5rem minmax(6rem, 12rem) }
.bars .head { color: #555; padding-bottom: 1.1rem }
.track { background: linear-gradient(90deg, #ddd 1px, #f4f4f4 1px) 0 0 / 25% 100% }
.track { height: 1rem; position: relative; border-right: 1px solid #ddd }
.track.ticks { background: none; border: 0 }
.track span { position: absolute; transform: translateX(-50%); top: .6rem }
.track span { font-size: .7rem; white-space: nowrap }
.track.ticks .at-25 { left: 25% }
.track.ticks .at-50 { left: 50% }
.track.ticks .at-75 { left: 75% }
.track.ticks .at-100 { left: 100% }
.track, .bar { print-color-adjust: exact; -webkit-print-color-adjust: exact }
.bar.low { fill: var(--low) }
.bar.medium { fill: var(--medium) }
.bar.high { fill: var(--high) }
svg { display: block; font: 13px system-ui, sans-serif }
svg.path { max-width: 100%; height: auto }
svg.track { width: 100% }
rect.node { fill: #f2f2f2; stroke: #999 }
.arrow { stroke: #333; fill: none }
.mid { text-anchor: middle }
.small { font-size: 10px }
@media (max-width: 40rem) {
  main { padding: 1rem }
  th { white-space: normal }
  table { font-size: .75rem }
  .bars .row { grid-template-columns: minmax(0, 1fr) 4.5rem }
  .bars .head { display: none }
}
@media print {
  main { padding: 0; max-width: none }
  section { break-inside: auto }
  h2, h3, tr { break-inside: avoid }
  h2, h3 { break-after: avoid }
  body { font-size: 11px }
}
`
