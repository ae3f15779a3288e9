// Where the money came from, as a report shows it: shares on a scale, a table of categories, and
// for each the way back over the transfer that brought most of it.

import { escaped } from '../../lib/html.ts'
import {
  amountText,
  categoryText,
  type FactorFact,
  type PathFact,
  percent,
  percentOf,
  said,
  short,
} from './text.ts'

type Decimals = ReadonlyMap<string, number>
type RiskFactor = { name: string; label: string; group: string; score: string }

const SCALE = [0, 25, 50, 75, 100]

/** A bar for each share, on a scale from 0 to 100 %, with the counterparty it is traced to. */
export function bars(risk_factors: readonly RiskFactor[], factors: readonly FactorFact[]): string {
  const origins = new Map(factors.map(({ category, origins }) => [category, origins[0]?.entity]))
  const rows = risk_factors.map(({ name, label, group, score }) => {
    const width = Math.min(100, Math.max(0.3, Number(score) * 100)).toFixed(2)
    const from = origins.get(name)
    return `<div class="row"><div class="name">${escaped(label)}</div>
<svg class="track" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
<rect class="bar ${escaped(group)}" width="${width}" height="10"/></svg>
<div class="share">${percent(score)}</div>
<div class="from">${from ? escaped(from) : ''}</div></div>`
  })
  const ticks = SCALE.map((at) => `<span class="at-${at}">${at} %</span>`).join('')
  return `<div class="bars" role="img" aria-label="Shares of the money by category">
<div class="row head"><div class="name">Category</div><div class="track ticks">${ticks}</div>
<div class="share">Share</div><div class="from">Traced to</div></div>${rows.join('')}</div>`
}

export function factorTable(factors: readonly FactorFact[], decimals: Decimals): string {
  if (factors.length === 0)
    return '<p>Nothing is known here of where money of this address came from.</p>'
  const rows = factors.map(({ category, share, usd, direct_usd, mean_hops, units }) => {
    const amounts = Object.entries(units).map(([asset, one]) => amountText(one, asset, decimals))
    return `<tr><td>${categoryText(category)}</td><td>${percent(share)}</td><td>${escaped(usd)}</td>
<td>${escaped(direct_usd)}</td><td>${mean_hops ? escaped(mean_hops) : ''}</td>
<td>${amounts.join('<br>')}</td></tr>`
  })
  return `<table><thead><tr><th>Category</th><th>Share</th><th>USD</th><th>of that direct</th>
<th>Mean hops</th><th>Amounts</th></tr></thead><tbody>${rows.join('')}</tbody></table>`
}

/** The ways back, one for each category that can be followed. */
export function pathPart(factors: readonly FactorFact[], decimals: Decimals): string {
  const followed = factors.filter(({ path }) => path.length > 0)
  if (followed.length === 0) return ''
  const parts = followed.map((factor) => {
    const { category, origins, path } = factor
    const origin = origins[0]
    const named = origin ? `: ${escaped(origin.entity)} (${said(origin)})` : ''
    return `<h3>${categoryText(category)}${named}</h3>${explained(factor, decimals)}
${pathGraph(path)}
${pathTable(path, decimals)}`
  })
  return `<section><h2>The way it came</h2><p>From the end backwards, always over the transfer that
brought most of the category. Other transfers may have brought more of it.</p>${parts.join('')}
</section>`
}

/** How much of the category came by the last transfer of the way. */
function explained({ path, units, category }: FactorFact, decimals: Decimals): string {
  const { asset, carried } = path[0]!
  if (carried === null) return '<p>How much of it this transfer brought is not kept any more.</p>'
  const whole = units[asset] ?? '0'
  const part = percentOf(BigInt(carried), BigInt(whole))
  const share = part === undefined ? '' : `, which is ${part} of it in ${escaped(asset)}`
  return `<p>The transfer that is followed brought ${amountText(carried, asset, decimals)} of the
${amountText(whole, asset, decimals)} of ${categoryText(category)}${share}.</p>`
}

const NODE_WIDTH = 132
const NODE_GAP = 52

/** Addresses from the origin on the left to the end on the right; an arrow for each transfer. */
function pathGraph(path: readonly PathFact[]): string {
  const forward = path.toReversed()
  const addresses = [forward[0]!.from, ...forward.map(({ to }) => to)]
  const place = (i: number) => i * (NODE_WIDTH + NODE_GAP)
  const nodes = addresses.map(
    (address, i) =>
      `<rect class="node" x="${place(i)}" y="20" width="${NODE_WIDTH}" height="30" rx="4"/>
<text class="mid" x="${place(i) + NODE_WIDTH / 2}" y="39">${escaped(short(address))}</text>`,
  )
  const arrows = forward.map(({ tx_id, asset }, i) => {
    const x = place(i) + NODE_WIDTH
    const line = `M${x + 3} 35H${x + NODE_GAP - 8}`
    return `<path class="arrow" d="${line}" marker-end="url(#tip)">
<title>${escaped(tx_id)}</title></path>
<text class="mid small" x="${x + NODE_GAP / 2}" y="28">${escaped(asset.slice(0, 8))}</text>`
  })
  const width = place(addresses.length - 1) + NODE_WIDTH
  return `<svg class="path" viewBox="0 0 ${width} 60" width="${width}" role="img"
aria-label="The way of the money"><defs><marker id="tip" viewBox="0 0 8 8" refX="6" refY="4"
markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>
${nodes.join('')}${arrows.join('')}</svg>`
}

function pathTable(path: readonly PathFact[], decimals: Decimals): string {
  const rows = path.map(
    ({ tx_id, block, from, asset, amount, carried }) =>
      `<tr><td class="hash">${escaped(tx_id)}</td><td>${escaped(block)}</td>
<td class="hash">${escaped(from)}</td><td>${amountText(amount, asset, decimals)}</td>
<td>${carriedText(carried, { amount, asset }, decimals)}</td></tr>`,
  )
  return `<table class="way"><thead><tr><th>Transaction</th><th>Block</th><th>From</th>
<th>Amount</th><th>of that category</th></tr></thead><tbody>${rows.join('')}</tbody></table>`
}

/** What of a transfer was of the category, and how much of the transfer that is. */
function carriedText(
  carried: string | null,
  { amount, asset }: { amount: string; asset: string },
  decimals: Decimals,
): string {
  if (carried === null) return 'not kept'
  const part = percentOf(BigInt(carried), BigInt(amount))
  return `${amountText(carried, asset, decimals)}${part === undefined ? '' : ` (${part})`}`
}
