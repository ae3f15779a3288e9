// A check as a person reads it: one page, complete in itself (no scripts, nothing from elsewhere), made for the screen and
// for paper. It says only what the evidence says, and the evidence's hash is on it. Everything in it came from outside
// once, so all text is escaped.

import type { Evidence } from './evidence.ts'

type LabelFact = { category: string; entity: string; list: string; reference: string; confidence: string }

type TransferFact = { tx_id: string; from: string; to: string; asset: string; amount: string; block: string }
type PathFact = TransferFact & { carried: string | null }

type FactorFact = {
  category: string
  share: string
  usd: string
  direct_usd: string
  mean_hops: string | null
  units: Record<string, string>
  origins: LabelFact[]
  path: PathFact[]
}

type Facts = {
  engine: string
  answers: Answer[]
  asked: { type: string; network: string; address: string; hash: string | null; direction: string | null; at: string }
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
  floors: { rule: string; category: string | null; points: string }[]
  blacklisted_by: string[]
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
  return `{"check_id":${JSON.stringify(check_id)},"evidence_sha256":"${sha256}","evidence":${canonical}}`
}

/** The report as a page of HTML. Where providers were asked too, it is about what our own engine found, with their answers
 *  beside it; where it was not asked at all, about the answer that counts. */
export function reportPage({ check_id, canonical, sha256 }: Evidence): string {
  const facts = factsOf(canonical)
  const { asked, result, index } = facts
  const title = `Screening of ${asked.type === 'hash' ? asked.hash : asked.address}`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${text(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<header>
<p class="kind">AML screening ${text(check_id)}</p>
<h1>${text(facts.screened.address)}</h1>
<p>${text(asked.network)} &middot; ${text(asked.type)}${asked.direction ? ` &middot; ${text(asked.direction)}` : ''} &middot; asked ${text(asked.at)}</p>
${asked.hash ? `<p class="hash">${text(asked.hash)}</p>` : ''}
</header>
<section class="score ${text(result.risk_level)}">
<p class="number">${text(result.risk_score)}</p>
<p><strong>${text(result.risk_level)} risk</strong>${result.blacklist ? ' &middot; <strong>blacklisted</strong>' : ''}<br>
${meanLine(facts)}${index.last_block === '' ? '' : `Found in what is held as of block ${text(index.last_block)}${index.last_block_time ? ` (${text(index.last_block_time)})` : ''}.`}</p>
</section>
${answerPart(facts)}
${blacklistPart(facts)}
${entryPart(facts)}
${transferPart(facts)}
<section>
<h2>Where the money is from</h2>
${bars(facts)}
${ownLine(facts)}${factorTable(facts.factors)}
</section>
${destinationPart(facts)}
${floorPart(facts)}
${pathPart(facts.factors)}
${labelPart(facts)}
${sourcePart(facts)}
<footer>
<p>Engine ${text(facts.engine)}, policy ${text(facts.policy.name)} (version ${text(facts.policy.version)})${facts.label_set === '' ? '' : `, label set ${text(facts.label_set)}`}.
Evidence SHA-256: <span class="hash">${text(sha256)}</span></p>
</footer>
</main>
</body>
</html>
`
}

type Answer = { name: string; score: string | null; level: string | null; blacklist: boolean; facts: unknown }

/** The facts of an answer, whoever gave it. */
function factsOf(evidence: string): Facts {
  const given = JSON.parse(evidence) as Partial<Facts> & { answers?: Answer[] }
  const embedded = given.answers?.find(({ name }) => name === 'embedded')?.facts as Partial<Facts> | undefined
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
  ...{ label_set: '', lists: [], notes: [], factors: [], floors: [], blacklisted_by: [] },
  ...{ entries: [], transfers: [], destinations: null },
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Text for an element or a quoted attribute. */
const text = (value: string) => value.replace(/[&<>"']/g, (character) => ESCAPES[character]!)

const short = (id: string) => (id.length > 16 ? `${id.slice(0, 6)}…${id.slice(-6)}` : id)

const percent = (share: string) => `${(Number(share) * 100).toFixed(2)} %`

const REASONS: Readonly<Record<string, string>> = {
  list: 'an official list names this address',
  issuer_freeze: "the token's issuer has frozen this address",
  denied: 'a deny entry names this address',
}

function meanLine({ result: { base_score, raw_score, risk_score, blacklist } }: Facts): string {
  if (base_score === undefined || raw_score === undefined) return ''
  const raised = blacklist || raw_score === base_score ? '' : ', raised by the rules below'
  const kept = `, not raised to ${text(raw_score)} because the address is allowed`
  return `Weighted mean ${text(base_score)}${raw_score === risk_score ? raised : kept}.<br>`
}

function answerPart({ answers }: Facts): string {
  if (answers.length === 0) return ''
  const rows = answers.map(
    ({ name, score, level, blacklist }) =>
      `<li>${text(name)}: ${score === null ? 'no score' : text(score)}${level ? `, ${text(level)}` : ''}${blacklist ? ', blacklisted' : ''}</li>`,
  )
  return `<section><h2>Who answered</h2><ul>${rows.join('')}</ul></section>`
}

function blacklistPart({ blacklisted_by }: Facts): string {
  if (blacklisted_by.length === 0) return ''
  const reasons = blacklisted_by.map((reason) => `<li>${text(REASONS[reason] ?? reason)}</li>`).join('')
  return `<section><h2>Blacklist</h2><ul>${reasons}</ul></section>`
}

function entryPart({ entries }: Facts): string {
  if (entries.length === 0) return ''
  const rows = entries.map(({ kind, reason }) => `<li>${text(kind)}: ${text(reason)}</li>`)
  return `<section><h2>What has been decided about the address</h2><ul>${rows.join('')}</ul></section>`
}

function transferPart({ transfers }: Facts): string {
  if (transfers.length === 0) return ''
  const rows = transfers.map(
    ({ block, from, to, asset, amount }) =>
      `<tr><td>${text(block)}</td><td class="hash">${text(from)}</td><td class="hash">${text(to)}</td><td>${text(amount)} ${text(asset)}</td></tr>`,
  )
  return `<section><h2>The transfers that were judged</h2><table><thead><tr><th>Block</th><th>From</th><th>To</th><th>${AMOUNT}</th></tr></thead><tbody>${rows.join('')}</tbody></table></section>`
}

function destinationPart({ destinations }: Facts): string {
  const to = Object.entries(destinations?.to ?? {})
  if (destinations === null || to.length === 0) return ''
  const rows = to.map(([category, usd]) => `<li>${text(category)}: ${text(usd)} USD</li>`)
  return `<section><h2>Where it sends to</h2><p>Of ${text(destinations.sent_usd)} USD sent in all:</p><ul>${rows.join('')}</ul></section>`
}

/** Evidence knows no decimals. */
const AMOUNT = 'Amount, smallest units'

const BAR_HEIGHT = 26
const BAR_WIDTH = 420

function bars({ result }: Facts): string {
  const rows = result.risk_factors.map(({ label, group, score }, i) => {
    const width = Math.max(1, Number(score) * BAR_WIDTH).toFixed(1)
    const y = i * BAR_HEIGHT
    return `<text x="0" y="${y + 17}">${text(label)}</text><rect class="${text(group)}" x="230" y="${y + 4}" width="${width}" height="16"/><text x="${(230 + Number(width) + 8).toFixed(1)}" y="${y + 17}">${percent(score)}</text>`
  })
  const height = result.risk_factors.length * BAR_HEIGHT
  return `<svg class="bars" viewBox="0 0 740 ${height}" role="img" aria-label="Shares of the money by category">${rows.join('')}</svg>`
}

/** Said where the bars show something else than the table. */
function ownLine({ screened: { in_force }, factors }: Facts): string {
  if (!in_force?.terminal || (factors.length === 1 && factors[0]!.category === in_force.category)) return ''
  return `<p>The address has a label of its own (${text(in_force.category)}), which counts instead of what it received.</p>`
}

function factorTable(factors: readonly FactorFact[]): string {
  if (factors.length === 0) return '<p>Nothing is known here of where money of this address came from.</p>'
  const rows = factors.map(({ category, share, usd, direct_usd, mean_hops, units }) => {
    const amounts = Object.entries(units).map(([asset, amount]) => `${amount} ${asset}`)
    return `<tr><td>${text(category)}</td><td>${percent(share)}</td><td>${text(usd)}</td><td>${text(direct_usd)}</td><td>${mean_hops ? text(mean_hops) : ''}</td><td>${text(amounts.join(', '))}</td></tr>`
  })
  return `<table><thead><tr><th>Category</th><th>Share</th><th>USD</th><th>of that direct</th><th>Mean hops</th><th>Smallest units</th></tr></thead><tbody>${rows.join('')}</tbody></table>`
}

const RULES: Readonly<Record<string, string>> = {
  own_label: 'the address itself is labelled',
  direct: 'money came straight from a severe category',
  indirect: 'money came from a severe category through others',
  combined: 'severe categories together',
  direct_amount: 'a large amount came straight from a severe category',
  destination: 'the address sends to a severe category',
}

function floorPart({ floors }: Facts): string {
  if (floors.length === 0) return ''
  const rows = floors.map(
    ({ rule, category, points }) =>
      `<li>At least ${text(points)}: ${text(RULES[rule] ?? rule)}${category ? ` (${text(category)})` : ''}</li>`,
  )
  return `<section><h2>Rules that raise the score</h2><ul>${rows.join('')}</ul></section>`
}

function pathPart(factors: readonly FactorFact[]): string {
  const followed = factors.filter(({ path }) => path.length > 0)
  if (followed.length === 0) return ''
  const parts = followed.map(({ category, origins, path }) => {
    const origin = origins[0]
    const named = origin ? `: ${text(origin.entity)} (${said(origin)})` : ''
    return `<h3>${text(category)}${named}</h3>${pathGraph(path)}${pathTable(path)}`
  })
  return `<section><h2>The way it came</h2><p>From the end backwards, always over the transfer that brought most of the category.</p>${parts.join('')}</section>`
}

const said = ({ list, reference }: LabelFact) => text([list, reference].filter((one) => one !== '').join(', '))

const NODE_WIDTH = 132
const NODE_GAP = 52

/** Addresses from the origin on the left to the end on the right; an arrow for each transfer. */
function pathGraph(path: readonly PathFact[]): string {
  const forward = path.toReversed()
  const addresses = [forward[0]!.from, ...forward.map(({ to }) => to)]
  const place = (i: number) => i * (NODE_WIDTH + NODE_GAP)
  const nodes = addresses.map(
    (address, i) =>
      `<rect class="node" x="${place(i)}" y="20" width="${NODE_WIDTH}" height="30" rx="4"/><text class="mid" x="${place(i) + NODE_WIDTH / 2}" y="39">${text(short(address))}</text>`,
  )
  const arrows = forward.map(({ tx_id, asset }, i) => {
    const x = place(i) + NODE_WIDTH
    return `<path class="arrow" d="M${x + 3} 35H${x + NODE_GAP - 8}" marker-end="url(#tip)"><title>${text(tx_id)}</title></path><text class="mid small" x="${x + NODE_GAP / 2}" y="28">${text(asset)}</text>`
  })
  const width = place(addresses.length - 1) + NODE_WIDTH
  return `<svg class="path" viewBox="0 0 ${width} 60" style="max-width:${width}px" role="img" aria-label="The way of the money"><defs><marker id="tip" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>${nodes.join('')}${arrows.join('')}</svg>`
}

function pathTable(path: readonly PathFact[]): string {
  const rows = path.map(
    ({ tx_id, block, from, asset, amount, carried }) =>
      `<tr><td class="hash">${text(tx_id)}</td><td>${text(block)}</td><td class="hash">${text(from)}</td><td>${text(amount)} ${text(asset)}</td><td>${carried ? text(carried) : 'not kept'}</td></tr>`,
  )
  return `<table><thead><tr><th>Transaction</th><th>Block</th><th>From</th><th>${AMOUNT}</th><th>of that category</th></tr></thead><tbody>${rows.join('')}</tbody></table>`
}

function labelPart({ screened }: Facts): string {
  if (screened.labels.length === 0 && !screened.frozen_by_issuer) return ''
  const rows = screened.labels.map(
    (label) =>
      `<li>${text(label.category)}: ${text(label.entity)}, by ${said(label)}, confidence ${text(label.confidence)}</li>`,
  )
  const frozen = screened.frozen_by_issuer ? '<li>Frozen by the issuer of a token</li>' : ''
  return `<section><h2>What is said of the address</h2><ul>${rows.join('')}${frozen}</ul></section>`
}

function sourcePart({ lists, notes, index }: Facts): string {
  if (index.last_block === '') return ''
  const rows = lists.map(
    ({ title, entries, loaded_at, sha256 }) =>
      `<li>${text(title)}: ${text(entries)} addresses, loaded ${text(loaded_at)} <span class="hash">${text(short(sha256))}</span></li>`,
  )
  const remarks = notes.map((note) => `<li>${text(note)}</li>`)
  return `<section><h2>What this rests on</h2><ul><li>Transfers of blocks ${text(index.first_block)} to ${text(index.last_block)}</li>${rows.join('')}</ul><h3>Notes</h3><ul>${remarks.join('')}</ul></section>`
}

const STYLE = `
:root { color-scheme: light; --low: #2f7d4f; --medium: #b7791f; --high: #b3261e }
body { font: 15px/1.5 system-ui, sans-serif; color: #1c1c1c; background: #fff; margin: 0 }
main { max-width: 60rem; margin: 0 auto; padding: 2rem 1.5rem }
h1 { font-size: 1.3rem; overflow-wrap: anywhere; margin: .2rem 0 }
h2 { font-size: 1.1rem; margin: 2rem 0 .6rem; border-bottom: 1px solid #ddd; padding-bottom: .2rem }
h3 { font-size: 1rem; margin: 1.2rem 0 .4rem }
.kind, footer { color: #555; font-size: .85rem }
.hash { font-family: ui-monospace, monospace; font-size: .8rem; overflow-wrap: anywhere }
.score { display: flex; gap: 1.5rem; align-items: center; border-left: .5rem solid; padding-left: 1rem; margin-top: 1.5rem }
.score .number { font-size: 3rem; font-weight: 700; margin: 0; line-height: 1 }
.score.low { border-color: var(--low) } .score.medium { border-color: var(--medium) } .score.high { border-color: var(--high) }
table { border-collapse: collapse; width: 100%; font-size: .85rem; margin: .6rem 0 }
th, td { text-align: left; padding: .3rem .5rem .3rem 0; border-bottom: 1px solid #eee; vertical-align: top }
svg { width: 100%; height: auto; display: block; font: 13px system-ui, sans-serif }
rect.low { fill: var(--low) } rect.medium { fill: var(--medium) } rect.high { fill: var(--high) }
rect.node { fill: #f2f2f2; stroke: #999 } .arrow { stroke: #333; fill: none } .mid { text-anchor: middle } .small { font-size: 10px }
@media print { main { padding: 0 } section { break-inside: avoid } body { font-size: 11px } }
`
