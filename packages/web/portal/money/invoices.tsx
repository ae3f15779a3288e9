// What was charged month by month, as documents that never change.

import type { Result } from 'penstock-sdk'
import { FilteredList } from '../../shared/files/filtered_list.tsx'
import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
import { Empty } from '../../shared/parts/answer.tsx'
import type { FilterField } from '../../shared/parts/list.tsx'
import { Money } from '../../shared/parts/money.tsx'
import type { Column } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/portal.ts'
import { say } from '../../shared/words/words.ts'
import { titleOf } from './invoice_title.ts'
import { monthChoices, monthText } from './period.ts'

type Invoice = Result<'/v1/invoices/list'>['items'][number]

const filterFields = (): FilterField[] => [
  { name: 'month', label: say('statement.month'), choices: monthChoices() },
]

export default function Invoices({ query }: PageProps) {
  return (
    <>
      <Title title={say('invoices')} section={say('money')} />
      <FilteredList<Invoice>
        path="/v1/invoices/list"
        address={path.invoices}
        query={query}
        fields={filterFields()}
        file="invoices"
        caption={say('invoices')}
        columns={columns()}
        keyOf={({ number }) => String(number)}
        isStale={({ type }) => type === 'invoice.issued'}
        none={
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
