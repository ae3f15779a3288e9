// A list of the wire, page by page. Where one is stands in the address: `before`, once for each
// page that lies above, so that Newer finds back and a link shows the same.

import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import type { LiveEvent } from '../calls/live.ts'
import { onEvent } from '../calls/live.ts'
import { usePosted } from '../calls/question.ts'
import { say } from '../words/words.ts'
import { Answer } from './answer.tsx'
import { type Column, Table } from './table.tsx'

export type Page<Row> = { items: Row[]; next: string | null }

export type ListProps<Row> = {
  /** Under that of the face: `/v1/transactions/list`. */
  path: string
  /** The filter, without `limit` and `before`. */
  body?: Record<string, unknown>
  limit?: number
  caption: string
  columns: readonly Column<Row>[]
  keyOf: (row: Row) => string
  /** Shown where there is nothing. */
  empty: ComponentChildren
  /** A row after an event; the same when it is about another. */
  patch?: (row: Row, event: LiveEvent) => Row
  /** Whether an event says that there is a new row above. */
  isNew?: (event: LiveEvent) => boolean
  /** Whether an event says that the rows must be asked for again. */
  isStale?: (event: LiveEvent) => boolean
  /** Asked for again when it changes: what the page itself has changed. */
  version?: number
}

const LIMIT = 25

export function List<Row>({ limit = LIMIT, ...props }: ListProps<Row>) {
  const { path, body = {}, caption, columns, keyOf, empty, isNew, version = 0 } = props
  const { url } = useLocation()
  const trail = new URL(url, location.origin).searchParams.getAll('before')
  const before = trail.at(-1)
  const question = usePosted<Page<Row>>(
    path,
    { ...body, limit, ...(before !== undefined && { before }) },
    { patch: patchOf(props) },
  )
  useEffect(() => {
    if (version > 0) void question.again()
  }, [version])
  const is_first = trail.length === 0
  const news = useNews(isNew, is_first)
  const show = () => {
    news.value = 0
    void question.again()
  }
  return (
    <Answer question={question} lines={12}>
      {({ items, next }) => (
        <>
          <p class="news" role="status">
            {news.value > 0 && (
              <button type="button" class="small" onClick={show}>
                {say('list.new', { n: news.value })}
              </button>
            )}
          </p>
          {items.length === 0 ? (
            empty
          ) : (
            <Table caption={caption} columns={columns} rows={items} keyOf={keyOf} />
          )}
          <Pager url={url} trail={trail} next={next} />
        </>
      )}
    </Answer>
  )
}

/** What an event makes of a page of the list. */
const patchOf =
  <Row,>({ patch, isStale }: Pick<ListProps<Row>, 'patch' | 'isStale'>) =>
  (page: Page<Row>, event: LiveEvent): Page<Row> | 'again' => {
    if (isStale?.(event)) return 'again'
    return patch ? { ...page, items: page.items.map((row) => patch(row, event)) } : page
  }

/** How many rows have come above since the list was asked for. Of an empty list nobody waits. */
function useNews(isNew: ListProps<never>['isNew'], is_first: boolean) {
  const news = useSignal(0)
  useEffect(() => {
    news.value = 0
    if (!isNew || !is_first) return
    return onEvent((event) => {
      if (isNew(event)) news.value++
    })
  }, [is_first])
  return news
}

function Pager({ url, trail, next }: { url: string; trail: string[]; next: string | null }) {
  if (trail.length === 0 && next === null) return null
  return (
    <nav class="pager" aria-label={say('list.pages')}>
      {trail.length > 0 && <a href={withTrail(url, trail.slice(0, -1))}>{say('list.newer')}</a>}
      {next !== null && <a href={withTrail(url, [...trail, next])}>{say('list.older')}</a>}
    </nav>
  )
}

function withTrail(url: string, trail: readonly string[]): string {
  const to = new URL(url, location.origin)
  to.searchParams.delete('before')
  for (const one of trail) to.searchParams.append('before', one)
  return to.pathname + to.search
}

// Some lists of the wire have numbered pages instead.

/** Which page the address names; the first when it names none. */
export const pageOf = ({ page = '' }: Readonly<Record<string, string>>): number =>
  /^[1-9]\d{0,5}$/.test(page) ? Number(page) : 1

export type NumberedPagesProps = {
  page: number
  has_older: boolean
  /** The address of a page. */
  to: (page: number) => string
}

export function NumberedPages({ page, has_older, to }: NumberedPagesProps) {
  if (page === 1 && !has_older) return null
  return (
    <nav class="pager" aria-label={say('list.pages')}>
      {page > 1 && <a href={to(page - 1)}>{say('list.newer')}</a>}
      {has_older && <a href={to(page + 1)}>{say('list.older')}</a>}
    </nav>
  )
}
