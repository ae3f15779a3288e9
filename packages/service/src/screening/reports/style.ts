// The style of reports for paper.

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
.score { display: flex; flex-wrap: wrap; gap: 1rem 2rem; align-items: center }
.score { border: 1px solid #ddd; border-radius: .6rem; padding: 1.2rem; margin-top: 1.5rem }
.score > div { flex: 1 1 16rem }
.score p { margin: .3rem 0 }
.score .level { font-size: 1.3rem; font-weight: 600 }
.score .why { font-size: 1.05rem }
.dial { width: 12.5rem; max-width: 100%; height: auto; flex: none }
.dial path { fill: none; stroke: #bbb; stroke-width: 16 }
.dial path.hand { stroke: #1c1c1c; stroke-width: 4; stroke-linecap: round }
.dial text { text-anchor: middle }
.dial .number { font-size: 34px; font-weight: 700 }
.dial .tick { font-size: 11px; fill: #555 }
.dial .low { stroke: var(--low) }
.dial .medium { stroke: var(--medium) }
.dial .high { stroke: var(--high) }
.score .low { color: var(--low) }
.score .medium { color: #855600 }
.score .high { color: var(--high) }
summary { cursor: pointer }
summary h2 { display: inline-block; margin: .6rem 0; border: 0 }
details { border-bottom: 1px solid #eee }
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
.flow { overflow-x: auto; padding-bottom: .3rem }
.flow svg { height: auto }
svg.track { width: 100% }
rect.node { fill: #f7f7f7; stroke: #999 }
rect.end { stroke: #1c1c1c; stroke-width: 2 }
.strong { font-weight: 600; font-size: 12px }
.arrow { stroke: #333; fill: none }
.mid { text-anchor: middle }
.small { font-size: 11px }
@media (max-width: 40rem) {
  main { padding: 1rem }
  th { white-space: normal }
  table { font-size: .75rem }
  .bars .row { grid-template-columns: minmax(0, 1fr) 4.5rem; gap: .2rem .8rem; padding: .4rem 0 }
  .bars .share { text-align: right }
  .bars .track, .bars .from { grid-column: 1 / -1; order: 1 }
  .bars .head { display: none }
  table, tbody, thead, tr, td { display: block }
  thead { position: absolute; clip-path: inset(50%) }
  tr { border-bottom: 1px solid #ddd; padding: .3rem 0 }
  td { border: 0; padding: .1rem 0 }
  td[data-title]:not(:empty)::before { content: attr(data-title) ": "; color: #555 }
}
@media print {
  main { padding: 0; max-width: none }
  section { break-inside: auto }
  .score, .flow { break-inside: avoid }
  .flow { overflow: visible }
  .flow svg { max-width: 100% }
  .dial path, .dial { print-color-adjust: exact; -webkit-print-color-adjust: exact }
  details::details-content { content-visibility: visible; block-size: auto }
  summary { list-style: none }
  .hint { display: none }
  h2, h3, tr { break-inside: avoid }
  h2, h3 { break-after: avoid }
  body { font-size: 11px }
}
`
