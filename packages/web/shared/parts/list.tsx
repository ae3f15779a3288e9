// A list of the wire, page by page. Where one is stands in the address: `before`, once for each
// page that lies above, so that Newer finds back and a link shows the same.

import { type Signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import type { LiveEvent } from '../calls/live.ts'
import { onEvent } from '../calls/live.ts'
import { usePosted } from '../calls/question.ts'
import { Icon } from '../icons/icon.tsx'
import { count, say } from '../words/words.ts'
import { Answer } from './answer.tsx'
import { type Choice, Field } from './field.tsx'
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
  /** The page that a click on the row opens. */
  hrefOf?: (row: Row) => string
  /** On a phone two lines a row. */
  is_brief?: boolean
}

const LIMIT = 25

export function List<Row>({ limit = LIMIT, ...props }: ListProps<Row>) {
  const { path, body = {}, caption, columns, keyOf, empty, isNew, version = 0 } = props
  const { hrefOf, is_brief = false } = props
  const table = { caption, columns, keyOf, ...(hrefOf && { hrefOf }), is_brief }
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
    news.value = []
    void question.again()
  }
  return (
    <Answer question={question} lines={12}>
      {({ items, next }) => (
        <>
          <News n={absentFrom(items.map(keyOf), news.value).length} onShow={show} />
          {items.length === 0 ? empty : <Table {...table} rows={items} />}
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

/** The events that say that rows have come above since the list was asked for. */
function useNews(isNew: ListProps<never>['isNew'], is_first: boolean) {
  const news = useSignal<readonly LiveEvent[]>([])
  useEffect(() => {
    news.value = []
    if (!isNew || !is_first) return
    return onEvent((event) => {
      if (isNew(event)) news.value = [...news.value, event]
    })
  }, [is_first])
  return news
}

/** Those whose rows are not there: an answer may have what is heard of only after it. */
const absentFrom = (keys: readonly string[], news: readonly LiveEvent[]): readonly LiveEvent[] =>
  news.filter((event) => {
    const id = 'subject' in event ? event.subject.slice(event.subject.indexOf(':') + 1) : ''
    return !keys.includes(id) && !keys.includes(String(event.number))
  })

const News = ({ n, onShow }: { n: number; onShow: () => void }) => (
  <p class="news" role="status">
    {n > 0 && (
      <button type="button" class="small" onClick={onShow}>
        {say('list.new', { n })}
      </button>
    )}
  </p>
)

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

// The filter of a list stands in the address, so that back works and a link shows the same.

export type FilterField = {
  /** In the address. */
  name: string
  label: string
  type?: 'text' | 'date'
  /** What there is to choose from, beside anything; left out: it is typed. */
  choices?: readonly Choice[]
}

/** What of the address is set of these fields. */
export const filterOf = (
  query: Readonly<Record<string, string>>,
  names: readonly string[],
): Record<string, string> =>
  Object.fromEntries(names.flatMap((name) => (query[name] ? [[name, query[name]] as const] : [])))

export type FilteredPlace = {
  /** The page of the list. */
  path: string
  /** Where one is now. */
  url: string
  /** The fields of the filter. */
  names: readonly string[]
}

/** The page with this filter. What else stands in its address stays, such as the filter of another
 *  list of the page; both begin at their first rows again. */
export function filteredPath(
  { path, url, names }: FilteredPlace,
  values: Readonly<Record<string, string>>,
): string {
  const query = new URL(url, location.origin).searchParams
  for (const name of [...names, 'before', 'after', 'page']) query.delete(name)
  for (const [name, value] of Object.entries(values)) {
    if (value.trim() !== '') query.set(name, value)
  }
  return query.size === 0 ? path : `${path}?${query}`
}

export type FilterFormProps = {
  fields: readonly FilterField[]
  /** What is set. */
  filter: Readonly<Record<string, string>>
  /** The page of the list. */
  path: string
  /** The list, where a page has two. */
  of?: string | undefined
  /** Beside it, for the whole list, such as taking it along. */
  children?: ComponentChildren
}

/** The filter, above a list. */
export function FilterForm({ filter, children, ...props }: FilterFormProps) {
  // Not of the fields, which begin anew with each filter.
  const shows_all = useSignal(false)
  return (
    <div class="toolbar">
      <FilterFields key={JSON.stringify(filter)} filter={filter} shows_all={shows_all} {...props} />
      {children}
    </div>
  )
}

/** Shown at once; further ones when they are asked for, or when one of them is set. */
const FIELDS_AT_ONCE = 3

type FilterFieldsProps = Omit<FilterFormProps, 'children'> & { shows_all: Signal<boolean> }

function FilterFields({ fields, filter, path, of, shows_all }: FilterFieldsProps) {
  const { route, url } = useLocation()
  const typed = useSignal(filter)
  const is_open = useSignal(false)
  const shown = fields.filter(
    ({ name }, i) => i < FIELDS_AT_ONCE || shows_all.value || name in filter,
  )
  const { length } = Object.keys(filter)
  const names = fields.map(({ name }) => name)
  const apply = (values: Readonly<Record<string, string>>) =>
    route(filteredPath({ path, url, names }, values))
  return (
    <>
      <button
        type="button"
        class="filters-button"
        aria-expanded={is_open.value}
        onClick={() => {
          is_open.value = !is_open.value
        }}
      >
        <Icon name="filter" /> {say('filter')} {length > 0 && count(length)}
      </button>
      <form
        class={is_open.value ? 'filters is-open' : 'filters'}
        aria-label={of === undefined ? say('filter') : `${say('filter')}: ${of}`}
        onSubmit={(event) => {
          event.preventDefault()
          apply(typed.value)
        }}
      >
        {shown.map((field) => (
          <OneFilter
            key={field.name}
            {...field}
            value={typed.value[field.name] ?? ''}
            onValue={(value, is_chosen) => {
              typed.value = { ...typed.value, [field.name]: value }
              if (is_chosen) apply(typed.value)
            }}
          />
        ))}
        {fields.length > FIELDS_AT_ONCE && (
          <button
            type="button"
            class="bare small"
            aria-expanded={shows_all.value}
            onClick={() => {
              shows_all.value = !shows_all.value
            }}
          >
            {say('filter.more')}
          </button>
        )}
        <button type="submit" class="small">
          {say('filter.apply')}
        </button>
        {length > 0 && (
          <a class="button bare small" href={filteredPath({ path, url, names }, {})}>
            <Icon name="x" /> {say('filter.clear')}
          </a>
        )}
      </form>
    </>
  )
}

type OneFilterProps = FilterField & {
  value: string
  /** A choice is in force at once, a text when the form is sent. */
  onValue: (value: string, is_chosen: boolean) => void
}

function OneFilter({ label, type = 'text', choices, value, onValue }: OneFilterProps) {
  const style = value === '' ? '' : 'is-set'
  const attributes: object = { type, autocomplete: 'off', spellcheck: false }
  return (
    <Field label={label}>
      {(control) =>
        choices ? (
          <select
            {...control}
            class={style}
            value={value}
            onChange={({ currentTarget }) => onValue(currentTarget.value, true)}
          >
            {[{ value: '', text: say('filter.any') }, ...choices].map((one) => (
              <option key={one.value} value={one.value}>
                {one.text}
              </option>
            ))}
          </select>
        ) : (
          <input
            {...control}
            {...attributes}
            class={style}
            value={value}
            onInput={({ currentTarget }) => onValue(currentTarget.value, false)}
          />
        )
      }
    </Field>
  )
}

// Some lists of the wire have numbered pages instead.

/** Which page the address names; the first when it names none. */
export const pageOf = ({ page = '' }: Readonly<Record<string, string>>): number =>
  /^[1-9]\d{0,5}$/.test(page) ? Number(page) : 1

export type NumberedPagesProps = { page: number; has_older: boolean }

export function NumberedPages({ page, has_older }: NumberedPagesProps) {
  const { url } = useLocation()
  if (page === 1 && !has_older) return null
  return (
    <nav class="pager" aria-label={say('list.pages')}>
      {page > 1 && <a href={withPage(url, page - 1)}>{say('list.newer')}</a>}
      {has_older && <a href={withPage(url, page + 1)}>{say('list.older')}</a>}
    </nav>
  )
}

/** The same address, filter and all, of another page. */
function withPage(url: string, page: number): string {
  const to = new URL(url, location.origin)
  if (page === 1) to.searchParams.delete('page')
  else to.searchParams.set('page', String(page))
  return to.pathname + to.search
}
