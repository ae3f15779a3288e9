// The search field: a combobox by the patterns of ARIA. It knows the pages at once, and asks for
// what was pasted.

import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { may } from '../calls/session.ts'
import { Icon } from '../icons/icon.tsx'
import { say } from '../words/words.ts'
import type { Face, Finding, PageRow } from './face.ts'

/** Its list is drawn by us: it has no `list` of the browser's. */
const COMBOBOX: object = { type: 'search', role: 'combobox' }
const WAIT_MS = 150
const SHOWN_MAX = 8

/** The pages whose names contain a text. */
function pagesFound(pages: readonly PageRow[], text: string): Finding[] {
  const wanted = text.trim().toLowerCase()
  if (wanted === '') return []
  return pages
    .filter(
      ({ path, scope, section, is_public }) =>
        !path.includes(':') && (!is_public || section !== null) && may(scope),
    )
    .map(({ path, title }) => ({ href: path, title: say(title), what: say('search.page') }))
    .filter(({ title }) => title.toLowerCase().includes(wanted))
}

/** What was typed, what was found for it, which of that is chosen. */
function useSearch({ pages, find }: Pick<Face, 'pages' | 'find'>) {
  const { route } = useLocation()
  const text = useSignal('')
  const found = useSignal<readonly Finding[]>([])
  const chosen = useSignal(-1)
  const is_open = useSignal(false)
  const asked = useRef(0)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  /** Whether what is shown is all there is for the text, or was chosen among. */
  const is_settled = useRef(false)

  /** Nothing is said of what is asked for still. */
  function show(things: readonly Finding[], { is_all }: { is_all: boolean }) {
    found.value = things.slice(0, SHOWN_MAX)
    chosen.value = things.length > 0 ? 0 : -1
    is_open.value = text.value.trim() !== '' && (is_all || things.length > 0)
  }
  /** Those of the newest text alone are shown. */
  async function search(): Promise<readonly Finding[]> {
    const mine = ++asked.current
    clearTimeout(timer.current)
    const here = pagesFound(pages, text.value)
    const there = text.value.trim() === '' ? [] : await find(text.value.trim()).catch(() => [])
    const all = [...there, ...here]
    if (mine !== asked.current) return []
    show(all, { is_all: true })
    is_settled.current = true
    return all
  }
  function type(typed: string) {
    text.value = typed
    is_settled.current = false
    show(pagesFound(pages, typed), { is_all: false })
    clearTimeout(timer.current)
    timer.current = setTimeout(search, WAIT_MS)
  }
  function go(to: Finding | undefined) {
    if (!to) return
    asked.current++
    clearTimeout(timer.current)
    is_open.value = false
    text.value = ''
    route(to.href)
  }
  async function press(event: KeyboardEvent) {
    const { length } = found.value
    if (event.key === 'Escape') is_open.value = false
    if (!['ArrowDown', 'ArrowUp', 'Enter'].includes(event.key)) return
    event.preventDefault()
    // Pasted and entered at once: what is asked for is waited for.
    if (event.key === 'Enter')
      go(is_settled.current ? found.value[chosen.value] : (await search())[0])
    else if (length > 0) {
      is_settled.current = true
      const by = event.key === 'ArrowDown' ? 1 : length - 1
      chosen.value = (chosen.value + by) % length
    }
  }
  return { text, found, chosen, is_open, type, go, press }
}

export function Search(face: Pick<Face, 'pages' | 'find'>) {
  const input = useRef<HTMLInputElement>(null)
  /** On a phone the field comes when it is asked for. */
  const is_shown = useSignal(false)
  const show = () => {
    is_shown.value = true
    // Seen only after the next drawing, and only then can it have the focus.
    requestAnimationFrame(() => {
      input.current?.focus()
      input.current?.select()
    })
  }
  const { text, found, chosen, is_open, type, go, press } = useSearch(face)
  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== 'k') return
      event.preventDefault()
      show()
    }
    addEventListener('keydown', focus)
    return () => removeEventListener('keydown', focus)
  }, [])
  const active = is_open.value && chosen.value >= 0 ? `found-${chosen.value}` : undefined
  return (
    <>
      <button
        type="button"
        class="search-button"
        aria-label={say('search')}
        aria-expanded={is_shown.value}
        onClick={show}
      >
        <Icon name="search" is_large />
      </button>
      <div class={is_shown.value ? 'search is-shown' : 'search'} role="search">
        <Icon name="search" />
        <input
          ref={input}
          {...COMBOBOX}
          aria-label={say('search')}
          aria-expanded={is_open.value}
          aria-controls="found"
          aria-autocomplete="list"
          {...(active && { 'aria-activedescendant': active })}
          placeholder={say('search.hint')}
          autocomplete="off"
          spellcheck={false}
          value={text.value}
          onInput={({ currentTarget }) => type(currentTarget.value)}
          onKeyDown={press}
          onBlur={() => {
            is_open.value = false
            is_shown.value = false
          }}
        />
        <div id="found" role="listbox" aria-label={say('search.found')} hidden={!is_open.value}>
          {found.value.map((one, i) => (
            <div
              key={one.href}
              id={`found-${i}`}
              role="option"
              aria-selected={i === chosen.value}
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => go(one)}
            >
              {one.title} <span class="quiet">{one.what}</span>
            </div>
          ))}
          {found.value.length === 0 && (
            <div role="option" aria-selected={false} aria-disabled="true" class="quiet">
              {say('search.nothing')}
            </div>
          )}
        </div>
      </div>
    </>
  )
}
