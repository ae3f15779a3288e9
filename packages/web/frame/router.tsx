// Which page is shown: the one whose path is that of the address. It is loaded when it is first
// opened; meanwhile the page before stays. After a change of page the heading gets the focus, so
// that those who hear the page are told where they are.

import { useSignal } from '@preact/signals'
import type { FunctionComponent } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { exec, useLocation } from 'preact-iso/router'
import { Fault } from '../calls/ask.ts'
import { may, session } from '../calls/session.ts'
import { startData } from '../calls/start_data.ts'
import { FaultNote, Skeleton } from '../parts/answer.tsx'
import { say } from '../words/words.ts'
import type { PageProps, PageRow } from './face.ts'
import { reloadOnce } from './lazy.tsx'
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
  const failed = useSignal<Fault | undefined>(undefined)
  useEffect(() => {
    if (!found) return
    let is_wanted = true
    failed.value = undefined
    found.row.load().then(
      ({ default: Page }) => {
        if (is_wanted)
          shown.value = { row: found.row, Page, props: { params: found.params, query } }
      },
      () => {
        const nothing_new = !reloadOnce()
        if (is_wanted && nothing_new)
          failed.value = new Fault({ code: -1, key: 'offline', error: '' })
      },
    )
    return () => {
      is_wanted = false
    }
  }, [path, JSON.stringify(query)])
  useHeadingFocus(path, shown.value)

  if (!found) return <NotThere />
  if (!session.value && !found.row.is_public) return <SignIn />
  if (failed.value) return <FaultNote fault={failed.value} again={() => location.reload()} />
  if (!shown.value) return <Skeleton lines={8} />
  const { row, Page, props } = shown.value
  if (!may(row.scope) && !row.is_public) return <Forbidden row={row} />
  return <Page key={row.path + JSON.stringify(props.params)} {...props} />
}

/** The heading of a page that was not the first one gets the focus. */
function useHeadingFocus(path: string, shown: CurrentPage | undefined): void {
  const before = useRef<string | undefined>(undefined)
  // At once: who tabs on quickly begins at the heading.
  useLayoutEffect(() => {
    if (!shown) return
    if (before.current !== undefined && before.current !== path) {
      scrollTo(0, 0)
      document.querySelector<HTMLElement>('main h1')?.focus()
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
