// What is around every page: a link past it all, the header, the navigation.

import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { beginning, may, session } from '../calls/session.ts'
import { startData } from '../calls/start_data.ts'
import { Icon } from '../icons/icon.tsx'
import { StaleNote } from '../parts/answer.tsx'
import { named, say } from '../words/words.ts'
import { Live, Looks, User } from './choices.tsx'
import type { Face, PageRow } from './face.ts'
import { Router } from './router.tsx'
import { Search } from './search.tsx'
import { Toasts } from './toasts.tsx'

export function Frame(face: Face) {
  const is_open = useSignal(false)
  const { url } = useLocation()
  useEffect(() => {
    is_open.value = false
  }, [url])
  const is_in = Boolean(session.value)
  const Header = face.Header
  return (
    <>
      <a class="skip" href="#main">
        {say('skip')}
      </a>
      <header class="top">
        {is_in && (
          <button
            type="button"
            class="menu"
            aria-label={say('menu')}
            aria-expanded={is_open.value}
            aria-controls="navigation"
            onClick={() => {
              is_open.value = !is_open.value
            }}
          >
            <Icon name={is_open.value ? 'x' : 'menu'} is_large />
          </button>
        )}
        <span class="identity">
          <a class="brand" href={startData().base || '/'}>
            <span class="brand-mark" aria-hidden="true">
              {[...startData().brand][0]}
            </span>
            <span class="wide-only">{startData().brand}</span>
          </a>
          <Network />
        </span>
        {is_in && <Search pages={face.pages} find={face.find} />}
        {is_in && Header && <Header />}
        <span class="choices">
          {is_in && <Live />}
          {is_in ? <User /> : <Looks />}
        </span>
      </header>
      <div class="middle">
        {is_in && <Navigation pages={face.pages} is_open={is_open.value} />}
        <main id="main" tabIndex={-1}>
          <StaleNote />
          <Router pages={face.pages} SignIn={face.SignIn} />
        </main>
      </div>
      {is_in && <Thumbs pages={face.pages} />}
      <Toasts />
    </>
  )
}

/** Which chain this is, in words and colour. */
function Network() {
  const network = beginning.value?.network
  if (!network) return null
  return <span class={`network ${network}`}>{named('network', network)}</span>
}

function Navigation({ pages, is_open }: { pages: readonly PageRow[]; is_open: boolean }) {
  const { path } = useLocation()
  const listed = pages.filter(({ section, scope }) => section !== null && may(scope))
  const sections = [...new Set(listed.map(({ section }) => section!))]
  const current = pageOf(listed, path)
  return (
    <nav id="navigation" class={is_open ? 'is-open' : ''} aria-label={say('navigation')}>
      {sections.map((section) => (
        <div key={section} class="section">
          {section !== 'top' && <p class="section-title">{say(section)}</p>}
          <ul>
            {listed
              .filter((row) => row.section === section)
              .map((row) => (
                <li key={row.path}>
                  <a href={row.path} {...(row === current && { 'aria-current': 'page' })}>
                    {row.icon && <Icon name={row.icon} />}
                    {say(row.title)}
                  </a>
                </li>
              ))}
          </ul>
        </div>
      ))}
    </nav>
  )
}

/** The few pages that one opens all the time, at the lower edge of a phone. */
function Thumbs({ pages }: Pick<Face, 'pages'>) {
  const { path } = useLocation()
  const listed = pages.filter(({ is_main, scope }) => is_main && may(scope))
  const current = pageOf(listed, path)
  return (
    <nav class="thumbs" aria-label={say('navigation.main')}>
      <ul>
        {listed.map((row) => (
          <li key={row.path}>
            <a href={row.path} {...(row === current && { 'aria-current': 'page' })}>
              {row.icon && <Icon name={row.icon} is_large />}
              {say(row.title)}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}

/** The page that the address is or lies below; the nearest, where several are above it. */
const pageOf = (listed: readonly PageRow[], path: string): PageRow | undefined =>
  listed
    .filter((row) => isWithin(row.path, path))
    .sort((one, other) => other.path.length - one.path.length)[0]

/** Whether the address is that page, or one below it. The first page has all others below. */
function isWithin(page: string, path: string): boolean {
  const { base } = startData()
  return page === path || (page !== (base || '/') && path.startsWith(`${page}/`))
}
