// What was charged month by month, as documents that never change.

import type { Result } from 'penstock-sdk'
import { Title } from '../../shared/frame/title.tsx'
import { Empty } from '../../shared/parts/answer.tsx'
import { List } from '../../shared/parts/list.tsx'
import { Money } from '../../shared/parts/money.tsx'
import type { Column } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/portal.ts'
import { say } from '../../shared/words/words.ts'
import { titleOf } from './invoice_title.ts'
import { monthText } from './period.ts'

type Invoice = Result<'/v1/invoices/list'>['items'][number]

export default function Invoices() {
  return (
    <>
      <Title title={say('invoices')} section={say('money')} />
      <List<Invoice>
        path="/v1/invoices/list"
        caption={say('invoices')}
        columns={columns()}
        keyOf={({ number }) => String(number)}
        isStale={({ type }) => type === 'invoice.issued'}
        empty={
          <Empty>
            <p>{say('invoices.none')}</p>
            <a href={path.statement}>{say('invoices.statement')}</a>
          </Empty>
        }
      />
    </>
  )
}

const columns = (): Column<Invoice>[] => [
  {
    title: say('invoice'),
    cell: (invoice) => <a href={path.invoice(invoice.number)}>{titleOf(invoice)}</a>,
  },
  { title: say('statement.month'), cell: ({ month }) => monthText(month) },
  { title: say('invoice.issued'), cell: ({ issued_at }) => <Time at={issued_at} /> },
  { title: say('invoice.total'), is_figure: true, cell: ({ total }) => <Money trx={total} /> },
]
