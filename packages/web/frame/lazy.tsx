// A part of a page that few see, loaded when it is drawn first. A part of an older version is gone
// when a newer one was installed: the page is loaded anew then, once.

import { signal } from '@preact/signals'
import type { FunctionComponent } from 'preact'
import { useEffect } from 'preact/hooks'
import { Skeleton } from '../parts/answer.tsx'

const LINES = 8
const RELOADED = 'penstock-reloaded'
const WORKS_AFTER_MS = 10_000

/** A component whose file is loaded later. What stands below it waits until then. */
export function lazy(load: () => Promise<FunctionComponent>): FunctionComponent {
  const loaded = signal<FunctionComponent | undefined>(undefined)
  return () => {
    useEffect(() => {
      load().then(
        (component) => {
          loaded.value = component
        },
        () => reloadOnce(),
      )
    }, [])
    const Part = loaded.value
    return Part ? <Part /> : <Skeleton lines={LINES} />
  }
}

/** Loads the page anew, unless that has been tried: answers whether it does. */
export function reloadOnce(): boolean {
  if (sessionStorage.getItem(RELOADED) !== null) return false
  sessionStorage.setItem(RELOADED, '1')
  location.reload()
  return true
}

/** What has been loaded for a while works, and may be loaded anew another time. */
export function forgetReload(): void {
  setTimeout(() => sessionStorage.removeItem(RELOADED), WORKS_AFTER_MS)
}
