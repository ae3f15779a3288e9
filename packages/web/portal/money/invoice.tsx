// One invoice, line by line, to read and to print. Each line leads to what was bought, and the
// month to its statement.

import type { Result } from 'penstock-sdk'
import type { ComponentChildren } from 'preact'
import { useQuestion } from '../../shared/calls/question.ts'
import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
import { LongText } from '../../shared/parts/address.tsx'
import { Answer } from '../../shared/parts/answer.tsx'
import { Money } from '../../shared/parts/money.tsx'
import { type Column, Facts, Table } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/portal.ts'
import { count, named, say } from '../../shared/words/words.ts'
import { titleOf } from './invoice_title.ts'
import { monthText, periodOfMonth } from './period.ts'

type Invoice = Result<'/v1/invoice/check'>
type Line = Invoice['lines'][number]

export default function OneInvoice({ params }: PageProps) {
  const number = Number(params.number)
  const question = useQuestion('/v1/invoice/check', { number })
  const { kind = 'invoice' } = question.answer.value ?? {}
  return (
    <>
      <Title title={titleOf({ kind, number })} section={say('invoices')}>
        <span class="actions">
          <a
            class="button"
            href={path.paperOfInvoice(params.number!)}
            target="_blank"
            rel="noopener"
          >
            {say('invoice.paper')}
          </a>
          <button type="button" class="main" onClick={() => print()}>
            {say('print')}
          </button>
        </span>
      </Title>
      <Answer question={question} lines={12}>
        {(invoice) => <WholeInvoice {...invoice} />}
      </Answer>
    </>
  )
}

function WholeInvoice(invoice: Invoice) {
  const { month, lines, total, sha256 } = invoice
  return (
    <div class="stack">
      <InvoiceFacts {...invoice} />
      <Table
        caption={say('invoice.lines')}
        rows={lines}
        keyOf={({ service, unit, unit_price }) => [service, unit, unit_price].join(' ')}
        columns={columns(month)}
      />
      <p class="headline">
        {say('invoice.total')} <Money trx={total} />
      </p>
      <p>
        <a href={path.statementOf(month)}>{say('invoice.statement')}</a>
      </p>
      <p class="quiet">
        {say('invoice.sha256')} <LongText text={sha256} what="SHA-256" whole />
      </p>
    </div>
  )
}

function InvoiceFacts({ issuer, billing, month, issued_at, corrects }: Invoice) {
  return (
    <Facts
      facts={[
        ...(corrects === null ? [] : [corrected(corrects)]),
        [say('invoice.from'), issuer ?? say('none')],
        [say('invoice.to'), billing.length === 0 ? say('none') : <Lines lines={billing} />],
        [say('statement.month'), monthText(month)],
        [say('invoice.issued'), <Time key="issued" at={issued_at} />],
      ]}
    />
  )
}

const corrected = (number: number): [string, ComponentChildren] => [
  say('invoice.corrects'),
  <a key="corrects" href={path.invoice(number)}>
    {say('invoice.title', { number })}
  </a>,
]

const Lines = ({ lines }: { lines: readonly string[] }) => (
  <>
    {lines.map((line, i) => (
      <div key={`${i} ${line}`}>{line}</div>
    ))}
  </>
)

const columns = (month: string): Column<Line>[] => [
  { title: say('order.service'), cell: (line) => <Bought line={line} month={month} /> },
  { title: say('invoice.unit'), cell: ({ unit }) => unit ?? say('invoice.smaller') },
  {
    title: say('invoice.unit_price'),
    is_figure: true,
    cell: ({ unit_price }) => unit_price !== null && <Money trx={unit_price} />,
  },
  { title: say('invoice.count'), is_figure: true, cell: (line) => count(line.count) },
  { title: say('invoice.total'), is_figure: true, cell: ({ total }) => <Money trx={total} /> },
]

/** As a link to what the line is the sum of; from an order its receipt is one click more. */
function Bought({ line: { service }, month }: { line: Line; month: string }) {
  if (service === 'subscription')
    return <a href={path.subscriptions}>{named('purpose', service)}</a>
  if (service === 'aml') return <a href={path.screening}>{named('purpose', service)}</a>
  const filter = new URLSearchParams({ service, status: 'success', ...periodOfMonth(month) })
  return <a href={`${path.orders}?${filter}`}>{named('service', service)}</a>
}
