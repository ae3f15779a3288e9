// A part of a page that few see, loaded when it is drawn first. What cannot be loaded is asked for
// again; and where the service answers all the same, the part is of an older version and is gone:
// the page is loaded anew then, once.

import { signal } from '@preact/signals'
import type { FunctionComponent } from 'preact'
import { useEffect } from 'preact/hooks'
import { Fault, NOT_ANSWERED } from '../calls/ask.ts'
import { onReturn } from '../calls/live.ts'
import { FaultNote, Skeleton } from '../parts/answer.tsx'

const LINES = 8
const RELOADED = 'penstock-reloaded'
const WORKS_AFTER_MS = 10_000

/** A component whose file is loaded later. What stands below it waits until then. */
export function lazy(load: () => Promise<FunctionComponent>): FunctionComponent {
  const loaded = signal<FunctionComponent | undefined>(undefined)
  const is_absent = signal(false)
  const begin = async () => {
    is_absent.value = false
    loaded.value = await load().catch(() => undefined)
    is_absent.value = loaded.value === undefined && !(await reloadOnce())
  }
  return () => {
    useEffect(() => {
      void begin()
    }, [])
    const Part = loaded.value
    if (Part) return <Part />
    return is_absent.value ? <NotLoaded again={begin} /> : <Skeleton lines={LINES} />
  }
}

const OFFLINE = new Fault({ code: NOT_ANSWERED, key: 'offline', error: '' })

/** Stands in the place of what could not be loaded. It tries again by itself when the service is
 *  back. */
export function NotLoaded({ again }: { again: () => Promise<void> }) {
  useEffect(() => onReturn(() => void again()), [again])
  return <FaultNote fault={OFFLINE} again={() => void again()} />
}

/** Loads the page anew, unless that has been tried, or the service does not answer: a browser would
 *  have nothing to show then. Answers whether it does. */
export async function reloadOnce(): Promise<boolean> {
  const is_there = await fetch('/health', { cache: 'no-store' }).then(
    ({ ok }) => ok,
    () => false,
  )
  if (!is_there || sessionStorage.getItem(RELOADED) !== null) return false
  sessionStorage.setItem(RELOADED, '1')
  location.reload()
  return true
}

/** What has been loaded for a while works, and may be loaded anew another time. */
export function forgetReload(): void {
  setTimeout(() => sessionStorage.removeItem(RELOADED), WORKS_AFTER_MS)
}
