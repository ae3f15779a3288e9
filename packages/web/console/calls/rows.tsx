// The rows of an operation that lists something, or the sentence that there are none.

import type { Question } from '../../shared/calls/question.ts'
import { Answer, Empty } from '../../shared/parts/answer.tsx'
import { Table, type TableProps } from '../../shared/parts/table.tsx'

export type RowsProps<Row> = Omit<TableProps<Row>, 'rows'> & {
  question: Question<Row[]>
  /** Said where there is nothing. */
  none: string
}

export const Rows = <Row,>({ question, none, ...table }: RowsProps<Row>) => (
  <Answer question={question} lines={8}>
    {(rows) =>
      rows.length === 0 ? (
        <Empty>
          <p>{none}</p>
        </Empty>
      ) : (
        <Table {...table} rows={rows} />
      )
    }
  </Answer>
)
