// A table; on a phone each row becomes lines of label and value.

import type { ComponentChildren } from 'preact'
import { nameText } from '../words/name.ts'

export type Column<Row> = {
  /** Already in words. */
  title: string
  cell: (row: Row) => ComponentChildren
  /** Figures stand at the end of their column. */
  is_figure?: boolean
}

export type TableProps<Row> = {
  /** What it shows, for those who hear the page; shown when `caption_shown`. */
  caption: string
  caption_shown?: boolean
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => string
}

export function Table<Row>({ caption, caption_shown, columns, rows, keyOf }: TableProps<Row>) {
  return (
    <div class="table-frame" role="region" aria-label={caption} tabIndex={0}>
      <table>
        <caption class={caption_shown ? '' : 'for-ears'}>{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ title, is_figure }) => (
              <th key={title} scope="col" class={is_figure ? 'is-figure' : ''}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ title, cell, is_figure }) => (
                <td key={title} data-label={title} class={is_figure ? 'is-figure' : ''}>
                  <div>{shown(cell(row))}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

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
