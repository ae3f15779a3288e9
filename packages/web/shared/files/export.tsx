// All rows of a list that fit its filter, page by page, as a file for spreadsheets.

import { useSignal } from '@preact/signals'
import { post } from '../calls/ask.ts'
import { useSubmission } from '../calls/submission.ts'
import { Icon } from '../icons/icon.tsx'
import { FaultNote } from '../parts/answer.tsx'
import { say } from '../words/words.ts'
import { csvOf, firstRows, flatRows, type Sheet, saveFile } from './csv.ts'

const PAGE = 100
/** A list that numbers its pages has no larger ones. */
const PER_PAGE_MAX = 50
/** A spreadsheet takes more, a browser waits long enough for these. */
const LINES_MAX = 10_000

export type ExportProps<Row> = {
  /** Of the file: `orders` becomes `orders.csv`. */
  name: string
  /** One page after another, each as large as `limit` at most. Throws a Fault. */
  pages: (limit: number) => AsyncIterable<readonly Row[]>
  /** The columns of the file; the fields of the rows as they are on the wire when left out. */
  sheetOf?: (rows: readonly Row[]) => Sheet
}

export function Export<Row>({ name, pages, sheetOf = flatRows }: ExportProps<Row>) {
  const submission = useSubmission()
  const read = useSignal(0)
  const is_cut = useSignal(false)
  const download = () =>
    submission.run(async () => {
      is_cut.value = false
      const { rows, more } = await firstRows(pages(PAGE), LINES_MAX, (count) => {
        read.value = count
      })
      const { columns, cells } = sheetOf(rows)
      saveFile(`${name}.csv`, 'text/csv', csvOf(columns, cells))
      is_cut.value = more
    })
  return (
    <div class="actions">
      {submission.is_busy.value && (
        <span class="quiet" role="status">
          {say('download.lines', { n: read.value })}
        </span>
      )}
      {is_cut.value && (
        <span class="quiet" role="status">
          {say('download.first', { n: LINES_MAX })}
        </span>
      )}
      <button type="button" disabled={submission.is_busy.value} onClick={download}>
        <Icon name="download" /> {say('download.csv')}
      </button>
      {submission.fault.value && <FaultNote fault={submission.fault.value} />}
    </div>
  )
}

/** The pages of a list of the wire, whose answers say what comes next. */
export async function* pagesOfList<Row>(
  path: string,
  body: Readonly<Record<string, unknown>>,
  limit: number,
): AsyncIterable<readonly Row[]> {
  let before: string | null = null
  do {
    const at: object = before === null ? {} : { before }
    const page: { items: Row[]; next: string | null } = await post(path, { ...body, ...at, limit })
    yield page.items
    before = page.next
  } while (before !== null)
}

/** The pages of a list of the wire that numbers them. */
export async function* pagesByNumber<Row>(
  path: string,
  body: Readonly<Record<string, unknown>>,
): AsyncIterable<readonly Row[]> {
  for (let page = 1, left = 1; left > 0; page++) {
    const at = { page, per_page: PER_PAGE_MAX }
    const { items, total }: { items: Row[]; total: number } = await post(path, { ...body, ...at })
    yield items
    left = total - page * PER_PAGE_MAX
  }
}

/** The pages of a list that is asked for what comes after a row: after the last one of each page,
 *  until one is not full. */
export async function* pagesAfter<Row>(
  limit: number,
  ask: (last: Row | undefined) => Promise<readonly Row[]>,
): AsyncIterable<readonly Row[]> {
  let last: Row | undefined
  do {
    const page = await ask(last)
    yield page
    last = page.length === limit ? page.at(-1) : undefined
  } while (last)
}
