// Where the money came from, as a report shows it: shares on a scale, the figures of each category,
// the ways back as one drawing, and their transfers one by one.

import { FLOW_BOX, flowOf } from 'penstock-web/shared/reports/flow.ts'
import { escaped } from '../../lib/html.ts'
import {
  amountText,
  type Edition,
  type FactorFact,
  folded,
  type PathFact,
  percent,
  percentOf,
  said,
  short,
  shortAmount,
  table,
} from './text.ts'
import { categoryName, type Words } from './words.ts'

export type RiskFactor = { name: string; label: string; group: string; score: string }

const SCALE = [0, 25, 50, 75, 100]

/** A bar for each share, on a scale from 0 to 100 %, with the counterparty it is traced to. */
export function bars(
  risk_factors: readonly RiskFactor[],
  factors: readonly FactorFact[],
  { say, nameOf }: Words,
): string {
  const origins = new Map(factors.map(({ category, origins }) => [category, origins[0]?.entity]))
  const rows = risk_factors.map(({ name, label, group, score }) => {
    const width = Math.min(100, Math.max(0.3, Number(score) * 100)).toFixed(2)
    const from = origins.get(name)
    return `<div class="row"><div class="name">${escaped(nameOf('category', name) ?? label)}</div>
<svg class="track" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
<rect class="bar ${escaped(group)}" width="${width}" height="10"/></svg>
<div class="share">${percent(score)}</div>
<div class="from">${from ? escaped(from) : ''}</div></div>`
  })
  const ticks = SCALE.map((at) => `<span class="at-${at}">${at} %</span>`).join('')
  return `<div class="bars" role="img" aria-label="${say('shares.label')}">
<div class="row head"><div class="name">${say('category')}</div>
<div class="track ticks">${ticks}</div>
<div class="share">${say('share')}</div><div class="from">${say('traced')}</div></div>
${rows.join('')}</div>`
}

export function factorPart(factors: readonly FactorFact[], edition: Edition): string {
  const { words } = edition
  const { say } = words
  if (factors.length === 0) return `<section><p>${say('nothing_known')}</p></section>`
  const rows = factors.map(({ category, share, usd, direct_usd, mean_hops, units }) => {
    const amounts = Object.entries(units).map(([asset, one]) => amountText(one, asset, edition))
    const [name, hops] = [categoryName(words, category), mean_hops ? escaped(mean_hops) : '']
    return [name, percent(share), escaped(usd), escaped(direct_usd), hops, amounts.join('<br>')]
  })
  const columns = [say('category'), say('share'), 'USD', say('direct'), say('hops'), say('amounts')]
  return folded(say('figures'), table(columns, rows))
}

/** The ways back of the categories that can be followed: one drawing, and each as a table. */
export function pathPart(factors: readonly FactorFact[], edition: Edition): string {
  const followed = factors.filter(({ path }) => path.length > 0)
  if (followed.length === 0) return ''
  const { words } = edition
  const { say } = words
  const parts = followed.map((factor) => {
    const { category, origins, path } = factor
    const origin = origins[0]
    const named = origin ? `: ${escaped(origin.entity)} (${said(origin)})` : ''
    return `<h3>${categoryName(words, category)}${named}</h3>
<p>${explained(factor, edition)}</p>${pathTable(path, edition)}`
  })
  return `<section><h2>${say('way')}</h2><p>${say('way.sentence')}</p>
${moneyGraph(followed, edition)}</section>${folded(say('way.table'), parts.join(''))}`
}

/** How much of the category came by the last transfer of the way. */
function explained({ path, units, category }: FactorFact, edition: Edition): string {
  const { words } = edition
  const { asset, carried } = path[0]!
  if (carried === null) return words.say('way.lost')
  const whole = units[asset] ?? '0'
  const part = percentOf(BigInt(carried), BigInt(whole))
  return words.say('way.explained', {
    carried: amountText(carried, asset, edition),
    whole: amountText(whole, asset, edition),
    category: categoryName(words, category),
    share: part === undefined ? '' : words.say('way.share', { part, asset: escaped(asset) }),
  })
}

const MIDDLE = FLOW_BOX.width / 2

/** From the origins on the left to the end on the right; on each arrow what went over it. */
function moneyGraph(factors: readonly FactorFact[], edition: Edition): string {
  const { words } = edition
  const { width, height, boxes, arrows } = flowOf(factors)
  const nameOf = (factor: FactorFact) =>
    factor.origins[0]?.entity || words.nameOf('category', factor.category) || factor.category
  const drawn = boxes.map(({ address, x, y, is_end, way }) => {
    const factor = way === undefined ? undefined : factors[way]
    const name = is_end ? words.say('way.end') : factor && cut(nameOf(factor))
    const [first, second] = name ? [y + 19, y + 36] : [0, y + 28]
    return `<rect class="node${is_end ? ' end' : ''}" x="${x}" y="${y}"
width="${FLOW_BOX.width}" height="${FLOW_BOX.height}" rx="6"/>
${name ? `<text class="mid strong" x="${x + MIDDLE}" y="${first}">${escaped(name)}</text>` : ''}
<text class="mid small" x="${x + MIDDLE}" y="${second}">${escaped(short(address))}</text>`
  })
  const ways = arrows.map(({ d, x, y, sums }) => {
    const [[asset, units] = ['', ''], ...others] = sums
    const more = others.length === 0 ? '' : ` ${words.say('way.more', { n: `${others.length}` })}`
    return `<path class="arrow" d="${d}"/>
<text class="mid small" x="${x}" y="${y}">${shortAmount(units, asset, edition)}${more}</text>`
  })
  const origins = factors.map((one) => escaped(nameOf(one))).join(', ')
  const end = escaped(short(factors[0]!.path[0]!.to))
  const label = words.say('way.label', { origins, end })
  const frame = `tabindex="0" role="region" aria-label="${words.say('way')}"`
  return `<div class="flow" ${frame}>
<svg viewBox="0 0 ${width} ${height}" width="${width}" role="img"
aria-label="${label}">${ways.join('')}${drawn.join('')}</svg></div>`
}

const NAME_MAX = 18
/** As much of a name as a box holds. */
const cut = (name: string) => (name.length > NAME_MAX ? `${name.slice(0, NAME_MAX - 1)}…` : name)

function pathTable(path: readonly PathFact[], edition: Edition): string {
  const { say } = edition.words
  const rows = path.map(({ tx_id, block, from, asset, amount, carried }) => [
    `<span class="hash">${escaped(tx_id)}</span>`,
    escaped(block),
    `<span class="hash">${escaped(from)}</span>`,
    amountText(amount, asset, edition),
    carriedText(carried, { amount, asset }, edition),
  ])
  const columns = [say('transaction'), say('block'), say('from'), say('amount')]
  return table([...columns, say('amount.carried')], rows)
}

/** What of a transfer was of the category, and how much of the transfer that is. */
function carriedText(
  carried: string | null,
  { amount, asset }: { amount: string; asset: string },
  edition: Edition,
): string {
  if (carried === null) return edition.words.say('amount.not_kept')
  const part = percentOf(BigInt(carried), BigInt(amount))
  return `${amountText(carried, asset, edition)}${part === undefined ? '' : ` (${part})`}`
}
