// What stands at the end of the header: whether the page is live, language, theme, who is signed
// in.

import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { post } from '../calls/ask.ts'
import { live_state } from '../calls/live.ts'
import { leaveSession, session } from '../calls/session.ts'
import { choose, startData } from '../calls/start_data.ts'
import { Icon } from '../icons/icon.tsx'
import { Shape } from '../parts/state.tsx'
import { chooseUtc, is_utc } from '../parts/time.tsx'
import { nameText } from '../words/name.ts'
import { named, say, spokenLanguage } from '../words/words.ts'

const MARKS = { live: 'done', connecting: 'busy', away: 'look' } as const

export function Live() {
  const state = live_state.value
  const words = { live: say('live'), connecting: say('live.connecting'), away: say('live.away') }
  return (
    <span class="live" role="status">
      <Shape mark={MARKS[state]} /> <span class="wide-only">{words[state]}</span>
    </span>
  )
}

/** Each language in its own words. */
export const LANGUAGE_NAMES: Readonly<Record<string, string>> = { en: 'EN', zh: '中文', ru: 'RU' }

/** Speaks it from now on. */
export function chooseLanguage(language: string): void {
  choose('language', language)
  location.reload()
}

function Languages() {
  return (
    <select
      class="small"
      aria-label={say('language')}
      value={spokenLanguage()}
      onChange={({ currentTarget }) => chooseLanguage(currentTarget.value)}
    >
      {startData().languages.map((language) => (
        <option key={language} value={language} lang={language}>
          {LANGUAGE_NAMES[language] ?? language}
        </option>
      ))}
    </select>
  )
}

type Shade = 'light' | 'dark'

/** What the user has chosen; undefined: whatever the system has. */
export function chosenTheme(): Shade | undefined {
  const { theme } = document.documentElement.dataset
  return theme === 'light' || theme === 'dark' ? theme : undefined
}

/** Changes whenever one chooses, for those who draw what was chosen. */
const themes_chosen = signal(0)

/** Draws the page so, from now on. */
export function chooseTheme(theme: Shade | undefined): void {
  const { dataset } = document.documentElement
  if (theme) dataset.theme = theme
  else delete dataset.theme
  choose('theme', theme ?? '')
  themes_chosen.value++
}

function Theme() {
  void themes_chosen.value
  const is_dark = matchMedia('(prefers-color-scheme: dark)').matches
  const theme = chosenTheme() ?? (is_dark ? 'dark' : 'light')
  const other = theme === 'dark' ? 'light' : 'dark'
  return (
    <button
      type="button"
      class="small"
      aria-label={say(`theme.${other}`)}
      title={say(`theme.${other}`)}
      onClick={() => chooseTheme(other)}
    >
      <Icon name={other === 'dark' ? 'moon' : 'sun'} />
    </button>
  )
}

/** What the page looks like. Who is signed in has it in the menu. */
export const Looks = () => (
  <>
    <Languages />
    <Theme />
  </>
)

/** A menu closes when one does something else. */
function closeOutside(menu: HTMLDetailsElement): () => void {
  const close = (event: Event) => {
    const is_inside = event.target instanceof Node && menu.contains(event.target)
    if (event instanceof KeyboardEvent ? event.key === 'Escape' : !is_inside) menu.open = false
  }
  addEventListener('pointerdown', close)
  addEventListener('keydown', close)
  return () => {
    removeEventListener('pointerdown', close)
    removeEventListener('keydown', close)
  }
}

export function User() {
  const { user, customer } = session.value!
  async function signOut() {
    await post('/session/end', {}).catch(() => {})
    leaveSession()
  }
  const menu = useRef<HTMLDetailsElement>(null)
  useEffect(() => closeOutside(menu.current!), [])
  return (
    <details class="user" ref={menu}>
      <summary>
        <Icon name="user-round" is_large />
        <span class="wide-only">{nameText(user.name)}</span>
        <span class="wide-only">
          <Icon name="chevron-down" />
        </span>
      </summary>
      <div class="user-menu">
        <p>
          <span class="narrow-only">{nameText(user.name)} </span>
          {nameText(customer?.name ?? '')} <span class="quiet">{named('role', user.role)}</span>
        </p>
        <label class="check">
          <input
            type="checkbox"
            checked={is_utc.value}
            onChange={({ currentTarget }) => chooseUtc(currentTarget.checked)}
          />{' '}
          {say('time.utc')}
        </label>
        <p class="actions">
          <Looks />
        </p>
        <button type="button" onClick={signOut}>
          <Icon name="log-out" /> {say('sign_out')}
        </button>
      </div>
    </details>
  )
}
