// A table; on a phone each row becomes lines of label and value.

import type { ComponentChildren } from 'preact'
import { useLocation } from 'preact-iso/router'
import { nameText } from '../words/name.ts'

export type Column<Row> = {
  /** Already in words. */
  title: string
  cell: (row: Row) => ComponentChildren
  /** Figures stand at the end of their column. */
  is_figure?: boolean
  /** What can be done to the row: it stays in sight when the table is wider than its place. */
  is_actions?: boolean
  /** Sentences, which need some width. */
  is_long?: boolean
  /** Left out of a brief table on a phone. */
  is_minor?: boolean
}

export type TableProps<Row> = {
  /** What it shows, for those who hear the page; shown when `caption_shown`. */
  caption: string
  caption_shown?: boolean
  /** Where it is of another language than the page. */
  caption_lang?: string
  /** On a phone two lines a row, without the names of the columns. */
  is_brief?: boolean
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => string
  /** The page that a click on the row opens, as the link in it does. */
  hrefOf?: (row: Row) => string
}

const CLASSES = ['is_figure', 'is_actions', 'is_long', 'is_minor'] as const
const classOf = (column: Column<never>): string =>
  CLASSES.filter((name) => column[name])
    .map((name) => name.replace('_', '-'))
    .join(' ')

export function Table<Row>(props: TableProps<Row>) {
  const { caption, caption_shown, caption_lang, is_brief, columns, rows, keyOf, hrefOf } = props
  const { route } = useLocation()
  const open = (event: MouseEvent, row: Row) => {
    if (hrefOf && isOnRow(event)) route(hrefOf(row))
  }
  const frame = is_brief ? 'table-frame is-brief' : 'table-frame'
  return (
    <div class={frame} role="region" aria-label={caption} tabIndex={0}>
      <table>
        <caption class={caption_shown ? '' : 'for-ears'} lang={caption_lang}>
          {caption}
        </caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={classOf(column)}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr
              key={keyOf(row)}
              class={hrefOf ? 'opens' : undefined}
              onClick={(event) => open(event, row)}
            >
              {columns.map((column) => (
                <td key={column.title} data-label={column.title} class={classOf(column)}>
                  <div>{shown(column.cell(row))}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** Whether a click meant the row: no control in it, and no text that was chosen. */
const isOnRow = ({ target }: MouseEvent): boolean =>
  target instanceof Element &&
  target.closest('a, button, input, select, summary, label, pre') === null &&
  (getSelection()?.isCollapsed ?? true)

/** Text may be a name that somebody else has chosen. */
const shown = (content: ComponentChildren): ComponentChildren =>
  typeof content === 'string' ? nameText(content) : content

/** Pairs of a name and a value. */
export function Facts({ facts }: { facts: readonly [name: string, value: ComponentChildren][] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{shown(value)}</dd>
        </div>
      ))}
    </dl>
  )
}
