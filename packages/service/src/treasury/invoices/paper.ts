// An invoice as a page for paper: no scripts, nothing from elsewhere. Everything in it is from the
// document as it was issued, whose hash stands on it.

import { escaped } from '../../lib/html.ts'
import type { Invoice, InvoiceDocument } from './forms.ts'

/** The only style of the page: its policy names its hash. */
export const STYLE = `
:root { color-scheme: light }
* { box-sizing: border-box }
body { font: 15px/1.5 system-ui, sans-serif; color: #1c1c1c; background: #fff; margin: 0 }
main { max-width: 50rem; margin: 0 auto; padding: 2rem 1.5rem }
h1 { font-size: 1.4rem; margin: 0 0 1rem }
p, td, th { overflow-wrap: anywhere }
.parties { display: flex; flex-wrap: wrap; gap: 1rem 4rem; margin-bottom: 1.5rem }
.parties p { margin: 0 }
.name, footer { color: #555; font-size: .85rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .35rem .5rem .35rem 0; border-bottom: 1px solid #ddd }
td.figure, th.figure { text-align: right; font-variant-numeric: tabular-nums }
tfoot td { font-weight: 700; border-bottom: 0 }
footer { margin-top: 2rem }
@media (max-width: 40rem) {
  main { padding: 1rem }
  table { font-size: .8rem }
}
@media print {
  main { padding: 0; max-width: none }
  tr { break-inside: avoid }
}
`

const WORDS = {
  en: {
    invoice: 'Invoice',
    credit_note: 'Credit note',
    corrects: 'About invoice',
    from: 'From',
    to: 'To',
    month: 'Month',
    issued: 'Issued',
    service: 'Service',
    unit: 'Of',
    price: 'Price of one',
    count: 'Number',
    total: 'Total',
    smaller: 'all smaller kinds',
    hash: 'SHA-256 of the document as it was issued:',
  },
  zh: {
    invoice: '账单',
    credit_note: '贷记通知单',
    corrects: '关于账单',
    from: '开具方',
    to: '客户',
    month: '月份',
    issued: '开具时间',
    service: '服务',
    unit: '规格',
    price: '单价',
    count: '数量',
    total: '合计',
    smaller: '其余较小的种类',
    hash: '开具时文件的 SHA-256：',
  },
  ru: {
    invoice: 'Счёт',
    credit_note: 'Кредит-нота',
    corrects: 'К счёту',
    from: 'От',
    to: 'Кому',
    month: 'Месяц',
    issued: 'Выставлен',
    service: 'Услуга',
    unit: 'Чего',
    price: 'Цена за единицу',
    count: 'Количество',
    total: 'Итого',
    smaller: 'все меньшие виды',
    hash: 'SHA-256 документа, как он был выставлен:',
  },
} as const
export type PaperLanguage = keyof typeof WORDS

/** The page, in a language. */
export function invoicePage({ document, sha256 }: Invoice, language: PaperLanguage): string {
  const { number, kind, corrects, month, issued_at, issuer, customer, lines, total } = JSON.parse(
    document,
  ) as InvoiceDocument
  const words = WORDS[language]
  const title = `${words[kind ?? 'invoice']} ${number}`
  const billing = customer.billing.length > 0 ? customer.billing : [customer.name]
  const rows = lines.map(
    ({ service, unit, unit_price, count, total }) =>
      `<tr><td>${escaped(service.replaceAll('_', ' '))}</td>` +
      `<td>${escaped(unit ?? words.smaller)}</td>` +
      `<td class="figure">${escaped(unit_price ?? '')}</td><td class="figure">${count}</td>` +
      `<td class="figure">${escaped(total)}</td></tr>`,
  )
  const party = (name: string, text: readonly string[]) =>
    `<div><p class="name">${name}</p>${text.map((one) => `<p>${escaped(one)}</p>`).join('')}</div>`
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escaped(title)}</h1>
<div class="parties">
${issuer === null ? '' : party(words.from, [issuer])}
${party(words.to, billing)}
${party(words.month, [month])}
${corrects ? party(words.corrects, [String(corrects)]) : ''}
${party(words.issued, [issued_at.slice(0, 10)])}
</div>
<table>
<thead><tr><th>${words.service}</th><th>${words.unit}</th>
<th class="figure">${words.price}, TRX</th>
<th class="figure">${words.count}</th><th class="figure">${words.total}, TRX</th></tr></thead>
<tbody>${rows.join('\n')}</tbody>
<tfoot><tr><td colspan="4">${words.total}</td><td class="figure">${escaped(total)}</td></tr></tfoot>
</table>
<footer><p>${words.hash} ${escaped(sha256)}</p></footer>
</main>
</body>
</html>
`
}
