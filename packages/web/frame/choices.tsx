// What stands at the end of the header: whether the page is live, language, theme, who is signed
// in.

import { useSignal } from '@preact/signals'
import { post } from '../calls/ask.ts'
import { live_state } from '../calls/live.ts'
import { forgetSession, session } from '../calls/session.ts'
import { choose, startData } from '../calls/start_data.ts'
import { Shape } from '../parts/state.tsx'
import { is_utc } from '../parts/time.tsx'
import { named, say, spokenLanguage } from '../words/words.ts'

const MARKS = { live: 'done', connecting: 'busy', away: 'look' } as const

export function Live() {
  const state = live_state.value
  const words = { live: say('live'), connecting: say('live.connecting'), away: say('live.away') }
  return (
    <span class="live" role="status">
      <Shape mark={MARKS[state]} /> {words[state]}
    </span>
  )
}

/** Each language in its own words. */
const LANGUAGE_NAMES: Readonly<Record<string, string>> = { en: 'EN', zh: '中文', ru: 'RU' }

export function Languages() {
  return (
    <select
      class="small"
      aria-label={say('language')}
      value={spokenLanguage()}
      onChange={({ currentTarget }) => {
        choose('language', currentTarget.value)
        location.reload()
      }}
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

/** What is drawn now, chosen or by the system. */
function drawnTheme(): Shade {
  const { theme } = document.documentElement.dataset
  if (theme === 'light' || theme === 'dark') return theme
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
}

export function Theme() {
  const theme = useSignal(drawnTheme())
  return (
    <button
      type="button"
      class="small"
      aria-label={theme.value === 'dark' ? say('theme.light') : say('theme.dark')}
      title={theme.value === 'dark' ? say('theme.light') : say('theme.dark')}
      onClick={() => {
        const other: Shade = theme.value === 'dark' ? 'light' : 'dark'
        theme.value = other
        document.documentElement.dataset.theme = other
        choose('theme', other)
      }}
    >
      <span aria-hidden="true">◐</span>
    </button>
  )
}

export function User() {
  const { user, customer } = session.value!
  async function signOut() {
    await post('/session/end', {}).catch(() => {})
    forgetSession()
  }
  return (
    <details class="user">
      <summary>{user.name}</summary>
      <div class="user-menu">
        <p>
          {customer?.name} <span class="quiet">{named('role', user.role)}</span>
        </p>
        <label class="check">
          <input
            type="checkbox"
            checked={is_utc.value}
            onChange={({ currentTarget }) => {
              is_utc.value = currentTarget.checked
            }}
          />{' '}
          {say('time.utc')}
        </label>
        <button type="button" onClick={signOut}>
          {say('sign_out')}
        </button>
      </div>
    </details>
  )
}
