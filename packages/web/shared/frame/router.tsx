// Which page is shown: the one whose path is that of the address. It is loaded when it is first
// opened; meanwhile the page before stays. After a change of page the heading gets the focus, so
// that those who hear the page are told where they are. When the session ends the page waits, out
// of sight, for whoever was signed in.

import { useSignal } from '@preact/signals'
import type { FunctionComponent } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { exec, useLocation } from 'preact-iso/router'
import { awaited, may, session } from '../calls/session.ts'
import { startData } from '../calls/start_data.ts'
import { Skeleton } from '../parts/answer.tsx'
import { goToPlace } from '../paths/places.ts'
import { say } from '../words/words.ts'
import type { PageProps, PageRow } from './face.ts'
import { NotLoaded, reloadOnce } from './lazy.tsx'
import { Title } from './title.tsx'

type CurrentPage = { row: PageRow; Page: FunctionComponent<PageProps>; props: PageProps }

/** The page of a path and what its path says; undefined when there is none. */
function pageOf(
  pages: readonly PageRow[],
  path: string,
): { row: PageRow; params: Record<string, string> } | undefined {
  for (const row of pages) {
    const match = exec(path, row.path, { params: {}, path, query: {} })
    if (match) return { row, params: match.params }
  }
  return undefined
}

export type RouterProps = { pages: readonly PageRow[]; SignIn: FunctionComponent }

export function Router({ pages, SignIn }: RouterProps) {
  const { path, query } = useLocation()
  const found = pageOf(pages, path)
  const shown = useSignal<CurrentPage | undefined>(undefined)
  const is_absent = useSignal(false)
  const wanted = useRef(0)
  const open = async () => {
    if (!found) return
    const mine = ++wanted.current
    is_absent.value = false
    const { row, params } = found
    const page = await row.load().catch(() => undefined)
    const reloads = page === undefined && (await reloadOnce())
    if (mine !== wanted.current || reloads) return
    is_absent.value = page === undefined
    if (page) shown.value = { row, Page: page.default, props: { params, query } }
  }
  useEffect(() => {
    void open()
  }, [path, JSON.stringify(query)])
  useHeadingFocus(path, shown.value)

  if (!found) return <NotThere />
  const is_in = Boolean(session.value) || found.row.is_public
  if (!is_in && !awaited.value) return <SignIn />
  return (
    <>
      {!is_in && <SignIn />}
      <div class="page" hidden={!is_in}>
        {is_absent.value ? (
          <Absent row={found.row} again={open} />
        ) : shown.value ? (
          <Shown {...shown.value} />
        ) : (
          <Skeleton lines={8} />
        )}
      </div>
    </>
  )
}

function Shown({ row, Page, props }: CurrentPage) {
  if (!may(row.scope) && !row.is_public) return <Forbidden row={row} />
  // What was typed there is there again for whoever has signed in again, and for nobody else. A
  // page that is everybody's stays as it is: who joins on it is shown the recovery codes there.
  const whose = row.is_public ? null : awaited.value?.user.id
  return <Page key={JSON.stringify([row.path, props.params, whose])} {...props} />
}

type AbsentProps = { row: PageRow; again: () => Promise<void> }

const Absent = ({ row, again }: AbsentProps) => (
  <>
    <Title title={say(row.title)} />
    <NotLoaded again={again} />
  </>
)

/** The heading of a page that was not the first one gets the focus. */
function useHeadingFocus(path: string, shown: CurrentPage | undefined): void {
  const before = useRef<string | undefined>(undefined)
  // At once: who tabs on quickly begins at the heading.
  useLayoutEffect(() => {
    if (!shown) return
    if (before.current !== undefined && before.current !== path) {
      document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true })
      goToPlace()
    }
    before.current = path
  }, [shown])
}

function NotThere() {
  return (
    <>
      <Title title={say('page.absent')} />
      <p>
        {say('page.absent.sentence')} <a href={startData().base || '/'}>{say('page.first')}</a>
      </p>
    </>
  )
}

function Forbidden({ row }: { row: PageRow }) {
  return (
    <>
      <Title title={say(row.title)} />
      <p>{say('page.forbidden', { scope: [row.scope ?? ''].flat().join(', ') })}</p>
    </>
  )
}
