// The status page for people: one document without scripts, whose charts are in it. Every chart is
// said in a sentence, and stands in a table below it.

import { LANGUAGES, type Language } from 'penstock-web/build/languages.ts'
import { escaped } from '../../lib/html.ts'
import { printJson } from '../../lib/json.ts'
import type { Brand } from '../../web/brand.ts'
import { accentLink, houseFooter } from '../../web/shell.ts'
import type { Visitor } from '../../web/visitor.ts'
import {
  histogramDrawing,
  percentilesDrawing,
  pricesDrawing,
  sparkDrawing,
  uptimeDrawing,
} from './drawings.ts'
import type { LatencyStatus, PartStatus, Status } from './report.ts'
import { type Words, wordsOf } from './words.ts'

export type DocumentInput = {
  status: Status
  visitor: Visitor
  brand: Brand
  /** The links to its style sheet, as text of HTML. */
  style_links: string
}

const MARKS = { up: ['done', '●'], slow: ['busy', '◐'], down: ['failed', '■'] } as const

/** The shape of a state in its colour. */
export const stateMark = (state: keyof typeof MARKS): string =>
  `<span class="mark ${MARKS[state][0]}" aria-hidden="true">${MARKS[state][1]}</span> `
const LANGUAGE_NAMES: Readonly<Record<Language, string>> = {
  en: 'English',
  zh: '中文',
  ru: 'Русский',
}
const STATES = ['up', 'slow', 'down'] as const

/** The text of the page. */
export function statusDocument({ status, visitor, brand, style_links }: DocumentInput): string {
  const { language, theme } = visitor
  const words = wordsOf(language)
  const title = words.say('title')
  return [
    '<!doctype html>',
    `<html lang="${language}"${theme === null ? '' : ` data-theme="${theme}"`}>`,
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escaped(`${title} · ${brand.name}`)}</title>`,
    '<link rel="icon" href="data:,">',
    style_links,
    accentLink(brand),
    '</head>',
    '<body>',
    '<div class="status">',
    header({ brand: brand.name, title, language }, words),
    '<main>',
    summary(status, words),
    incidents(status, words),
    section(words.say('parts'), status.parts.map((part) => partArticle(part, words)).join('\n')),
    offer(status, words),
    section(
      words.say('latencies'),
      status.latencies.map((latency) => latencyArticle(latency, status, words)).join('\n'),
    ),
    '</main>',
    houseFooter(brand, language),
    '</div>',
    '</body>',
    '</html>',
    '',
  ].join('\n')
}

const section = (title: string, inside: string) =>
  `<section><h2>${escaped(title)}</h2>\n<div class="panel">${inside}</div>\n</section>`

function header(
  { brand, title, language }: { brand: string; title: string; language: Language },
  words: Words,
): string {
  const links = LANGUAGES.map((one) => {
    const current = one === language ? ' aria-current="true"' : ''
    return (
      `<li><a href="?language=${one}" lang="${one}" hreflang="${one}"${current}>` +
      `${LANGUAGE_NAMES[one]}</a></li>`
    )
  })
  return (
    `<header><h1>${escaped(brand)} · ${escaped(title)}</h1>` +
    `<nav aria-label="${escaped(words.say('languages'))}"><ul>${links.join('')}</ul></nav></header>`
  )
}

/** How the part does that does worst. */
export const worstState = ({ parts }: Pick<Status, 'parts'>): keyof typeof MARKS =>
  STATES.findLast((state) => parts.some((part) => part.state === state)) ?? 'up'

function summary({ at, parts }: Status, words: Words): string {
  const worst = worstState({ parts })
  return (
    `<div class="summary is-${worst}">` +
    `<p>${stateMark(worst)}${escaped(words.say(`all.${worst}`))}</p>` +
    `<p class="quiet">${escaped(words.say('at', { at: momentText(at) }))} ` +
    `<a href="status.json">${escaped(words.say('program'))}</a></p></div>`
  )
}

/** `2026-11-22 14:03`, in UTC. */
const momentText = (at: string) => at.slice(0, 16).replace('T', ' ')

function incidents({ incidents, parts }: Status, words: Words): string {
  const n = parts[0]!.days.length
  const items = incidents.map(({ title, what, began_at, closed_at, outcome, ...one }) => {
    const began = momentText(began_at)
    const when =
      closed_at === null
        ? words.say('incident.open', { began })
        : words.say('incident.closed', { began, closed: momentText(closed_at) })
    const concerned = parts
      .filter(({ part }) => one.parts.includes(part))
      .map(({ part }) => words.say(`part.${part}`))
    const open = closed_at === null ? `<span class="mark look" aria-hidden="true">▲</span> ` : ''
    return (
      `<article><h3>${open}${escaped(title)}</h3>` +
      `<p class="quiet">${escaped([when, ...concerned].join(' · '))}</p>` +
      `<p>${escaped(what)}</p>` +
      (outcome === null
        ? ''
        : `<p>${escaped(words.say('incident.outcome'))}: ${escaped(outcome)}</p>`) +
      '</article>'
    )
  })
  const none = `<p>${escaped(words.say('incidents.none', { n }))}</p>`
  return section(words.say('incidents'), items.length > 0 ? items.join('\n') : none)
}

function partArticle({ part, state, days, ...rule }: PartStatus, words: Words): string {
  const minutes = (of: (day: (typeof days)[number]) => number) =>
    days.reduce((sum, day) => sum + of(day), 0)
  const all = minutes(({ up, slow, down }) => up + slow + down)
  const name = words.say(`part.${part}`)
  const share = words.percent((all - minutes(({ down }) => down)) / Math.max(1, all))
  const sentence =
    all === 0 ? words.say('uptime.none') : words.say('uptime', { share, n: days.length })
  const slow = words.duration(rule.slow_from_ms)
  const late = words.duration(rule.waits_ms_max ?? 0)
  const rows = days
    .filter(({ up, slow, down }) => up + slow + down > 0)
    .map(({ day, up, slow, down }) => [day, ...[up, slow, down].map(words.count)])
  const columns = (['day', 'up', 'slow', 'down'] as const).map((one) => words.say(`column.${one}`))
  const drawing = uptimeDrawing(days, {
    label: `${name}: ${sentence}`,
    wordsOfDay: (day) => words.say('day', day),
  })
  return (
    `<article><header><h3>${escaped(name)}</h3>` +
    `<strong class="state-${state}">${stateMark(state)}` +
    `${escaped(words.say(`state.${state}`))}</strong></header>${drawing}` +
    `<details><summary>${escaped(sentence)}</summary>` +
    `<p class="quiet">${escaped(words.say(`rule.${part}`, { slow, late }))}</p>` +
    `${rows.length === 0 ? '' : plainTable({ caption: name, columns, rows })}</details></article>`
  )
}

function offer({ pool, recharge, burning }: Status, words: Words): string {
  const orders = (pool ?? []).map(({ resource, largest_order: n }) => {
    const name = words.say(resource === 'energy' ? 'resource.energy' : 'resource.bandwidth')
    return `<p>${escaped(words.say(n > 0 ? 'pool' : 'pool.empty', { n, resource: name }))}</p>`
  })
  const rows = (recharge ?? []).map(({ min_energy, max_energy, price }) => [
    `${words.count(min_energy)} – ${words.count(max_energy)}`,
    printJson(price),
  ])
  const columns = [words.say('recharge.energy'), words.say('recharge.price')]
  const rates =
    recharge === null
      ? ''
      : pricesArticle({ recharge, burning }, words) +
        plainTable({ caption: words.say('recharge'), columns, rows })
  return pool === null && recharge === null
    ? ''
    : section(words.say('offer'), [...orders, rates].join('\n'))
}

/** The rates as steps over the energy of an order, beside what burning costs. */
function pricesArticle(
  { recharge, burning }: Pick<Status, 'recharge' | 'burning'>,
  words: Words,
): string {
  const tiers = (recharge ?? []).map(({ min_energy, price }) => ({
    from: words.count(min_energy),
    trx: Number(printJson(price)),
  }))
  if (tiers.length === 0) return ''
  const all = tiers.map(({ trx }) => trx)
  const burning_trx = burning === null ? undefined : Number(printJson(burning))
  const sentences = [
    words.say('prices', { least: Math.min(...all), most: Math.max(...all) }),
    burning_trx === undefined ? '' : words.say('prices.burning', { price: burning_trx }),
  ]
  const label = sentences.join(' ').trim()
  const drawing = pricesDrawing(tiers, { burning_trx, label })
  return `<div class="chart">${drawing}</div><p>${escaped(label)}</p>`
}

function latencyArticle(
  { latency, days, today }: LatencyStatus,
  { bounds_ms }: Status,
  words: Words,
): string {
  const name = words.say(`latency.${latency}`)
  const under = (ms: number | null) =>
    ms === null ? words.say('never') : words.say('under', { time: words.duration(ms) })
  const known = days.filter(({ samples }) => samples > 0)
  const last = known.at(-1)
  const heading = `<h3>${escaped(name)}</h3>`
  if (!last) {
    const none = words.say('latency.none', { n: days.length })
    return `<article><header>${heading}</header><p class="quiet">${escaped(none)}</p></article>`
  }
  const parts = { p50: under(last.p50_ms), p95: under(last.p95_ms), p99: under(last.p99_ms) }
  const { day, samples, failed } = last
  const key = today.samples > 0 ? 'latency.today' : 'latency.last'
  const sentence = words.say(key, { ...parts, day, samples, failed })
  const drawing = percentilesDrawing(days, {
    label: `${name}. ${sentence} ${words.say('legend')}`,
    duration: words.duration,
  })
  const columns = [
    words.say('column.day'),
    words.say('half'),
    words.say('of100', { n: 95 }),
    words.say('of100', { n: 99 }),
    words.say('samples'),
    words.say('failed'),
  ]
  const rows = known.map((one) => [
    one.day,
    ...[one.p50_ms, one.p95_ms, one.p99_ms].map(under),
    words.count(one.samples),
    words.count(one.failed),
  ])
  return (
    `<article><header>${heading}${sparkDrawing(days)}</header>` +
    `<details><summary>${escaped(sentence)}</summary><div class="chart">${drawing}</div>` +
    `<p class="quiet">${escaped(words.say('legend'))}</p>` +
    plainTable({ caption: name, columns, rows }) +
    `${today.samples > 0 ? histogram(today.buckets, { name, bounds_ms }, words) : ''}` +
    '</details></article>'
  )
}

/** Today's samples by bucket, without the empty ones at both ends. */
function histogram(
  counts: readonly number[],
  { name, bounds_ms }: { name: string; bounds_ms: readonly number[] },
  words: Words,
): string {
  const first = counts.findIndex((count) => count > 0)
  const last = counts.findLastIndex((count) => count > 0)
  const label = (bucket: number) => {
    const bound = bounds_ms[bucket]
    if (bound !== undefined) return words.say('under', { time: words.duration(bound) })
    return bucket === bounds_ms.length ? words.say('never') : words.say('failed')
  }
  const rows = counts
    .map((count, bucket) => [label(bucket), words.count(count)])
    .slice(first, last + 1)
  const title = words.say('histogram')
  const said = rows.filter(([, count]) => count !== '0').map((row) => row.join(': '))
  return (
    `<details><summary>${escaped(title)}</summary><div class="chart">` +
    histogramDrawing(counts.slice(first, last + 1), `${name}. ${title}: ${said.join('; ')}`) +
    `</div>${plainTable({
      caption: title,
      columns: [words.say('bucket'), words.say('samples')],
      rows,
    })}</details>`
  )
}

type TableInput = {
  caption: string
  columns: readonly string[]
  rows: readonly (readonly string[])[]
}

function plainTable({ caption, columns, rows }: TableInput): string {
  const heads = columns.map((column) => `<th scope="col">${escaped(column)}</th>`).join('')
  const lines = rows.map(
    ([first = '', ...others]) =>
      `<tr><th scope="row">${escaped(first)}</th>` +
      `${others.map((cell) => `<td>${escaped(cell)}</td>`).join('')}</tr>`,
  )
  return (
    `<div class="scroll" tabindex="0" role="group" aria-label="${escaped(caption)}"><table>` +
    `<caption>${escaped(caption)}</caption><thead><tr>${heads}</tr></thead>` +
    `<tbody>${lines.join('\n')}</tbody></table></div>`
  )
}
