// The report of a case, for paper: what it is about, what was decided, and all that was done.

import { wireTime } from '../../lib/clock.ts'
import { escaped } from '../../lib/html.ts'
import type { showCase } from '../cases/case_subjects.ts'
import { STYLE } from './style.ts'

type WholeCase = Awaited<ReturnType<typeof showCase>>

/** A page of HTML. `missing`: checks of which no evidence is kept. */
export function casePage(known: WholeCase, missing: readonly string[]): string {
  const { id, address, state, code, closed_by, priority, risk_level, report_reference } = known
  const end = code === null ? '' : `, ${escaped(code)} by ${escaped(closed_by ?? '')}`
  const facts = [
    `State: ${escaped(state)}${end}`,
    `Opened ${wireTime(known.opened_at)} by ${escaped(known.opened_by)}`,
    `Customer: ${escaped(known.customer_id ?? 'none')}`,
    `Priority: ${escaped(priority)}, risk: ${escaped(risk_level ?? 'not known')}`,
    ...(report_reference === null ? [] : [`Reported as ${escaped(report_reference)}`]),
    ...missing.map((check) => `No evidence is kept of check ${escaped(check)}`),
  ]
  const decisions = known.reviews.map(({ check_id, risk_score, decision, decided_by }) => [
    check_id,
    risk_score,
    decision ?? 'waits',
    decided_by ?? '',
  ])
  const subjects = known.subjects.map((one) => [one.kind, one.subject, one.added_by])
  const entries = known.entries.map(({ at, made_by, kind, text, name, sha256 }) => [
    wireTime(at),
    made_by,
    kind,
    name === null ? text : `${name}, SHA-256 ${sha256}`,
  ])
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Case ${escaped(id)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<header><p class="kind">Case ${escaped(id)}</p><h1>${escaped(address)}</h1></header>
<ul>${facts.map((one) => `<li>${one}</li>`).join('')}</ul>
${table('Answers', ['Check', 'Score', 'Decision', 'By'], decisions)}
${table('Subjects', ['Kind', 'Subject', 'Added by'], subjects)}
${table('History', ['At', 'By', 'Kind', 'Text'], entries)}
</main>
</body>
</html>
`
}

function table(title: string, columns: readonly string[], rows: readonly string[][]): string {
  if (rows.length === 0) return ''
  const cells = (row: readonly string[]) => row.map((one) => `<td>${escaped(one)}</td>`).join('')
  return `<section><h2>${title}</h2><table><thead><tr>${columns
    .map((one) => `<th>${one}</th>`)
    .join('')}</tr></thead><tbody>${rows
    .map((row) => `<tr>${cells(row)}</tr>`)
    .join('\n')}</tbody></table></section>`
}
