// A table; on a phone each row becomes lines of label and value.

import type { ComponentChildren, TargetedToggleEvent } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { Icon } from '../icons/icon.tsx'
import { nameText } from '../words/name.ts'
import { say } from '../words/words.ts'

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

export type RowAction = {
  /** Of the button. */
  text: string
  run: () => void
  /** Stands in the row; the others are in a menu behind three dots. */
  is_first?: boolean
}

/** The actions of a row. `of`: the name of the row, for those who hear the page. */
export function RowActions({ of, actions }: { of: string; actions: readonly RowAction[] }) {
  const menu = useId()
  const rest = actions.filter(({ is_first }) => !is_first)
  return (
    <span class="actions">
      {actions
        .filter(({ is_first }) => is_first)
        .map((action) => (
          <ActionButton key={action.text} of={of} {...action} />
        ))}
      {rest.length > 0 && (
        <More id={menu} of={of}>
          {rest.map((action) => (
            <ActionButton key={action.text} of={of} menu={menu} {...action} />
          ))}
        </More>
      )}
    </span>
  )
}

/** `menu`: the one that it stands in, which closes first, so that the focus is back at the row
 *  before a dialog takes it. */
function ActionButton({ of, menu, text, run }: RowAction & { of: string; menu?: string }) {
  const press = () => {
    if (menu) document.getElementById(menu)?.hidePopover()
    run()
  }
  return (
    <button type="button" class="small" onClick={press}>
      {text}
      <span class="for-ears"> {of}</span>
    </button>
  )
}

type MoreProps = { id: string; of: string; children: ComponentChildren }

/** The browser's own popover: over everything, and gone by Escape or a press beside it. */
function More({ id, of, children }: MoreProps) {
  const button = useRef<HTMLButtonElement>(null)
  const shut = useRef<AbortController>(undefined)
  const place = ({ currentTarget: menu, newState }: TargetedToggleEvent<HTMLDivElement>) => {
    shut.current?.abort()
    if (newState !== 'open') return
    shut.current = new AbortController()
    const { bottom, top, right } = button.current!.getBoundingClientRect()
    // It does not move with its row. What was scrolled before it opened is told after that.
    const shutWhenMoved = () => {
      const now = button.current!.getBoundingClientRect()
      if (now.bottom !== bottom || now.right !== right) menu.hidePopover()
    }
    const how = { capture: true, passive: true, signal: shut.current.signal }
    for (const type of ['scroll', 'resize']) addEventListener(type, shutWhenMoved, how)
    const { offsetHeight, style } = menu
    const is_room_below = bottom + offsetHeight <= innerHeight
    style.insetBlockStart = `${is_room_below ? bottom : Math.max(0, top - offsetHeight)}px`
    style.insetInlineEnd = `${document.documentElement.clientWidth - right}px`
  }
  useEffect(() => () => shut.current?.abort(), [])
  return (
    <span class="row-more">
      <button type="button" class="small" ref={button} popovertarget={id}>
        <Icon name="ellipsis" />
        <span class="for-ears">{say('more.of', { name: of })}</span>
      </button>
      <div id={id} popover="auto" class="row-menu" onToggle={place}>
        <p class="quiet">{of}</p>
        {children}
      </div>
    </span>
  )
}

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
