// A part of a page that few see, loaded when it is drawn first.

import { signal } from '@preact/signals'
import type { FunctionComponent } from 'preact'
import { useEffect } from 'preact/hooks'
import { Skeleton } from '../parts/answer.tsx'
import { reloadOnce } from './reload.ts'

const LINES = 8

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
