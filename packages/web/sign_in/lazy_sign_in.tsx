// The page to sign in at, loaded when somebody has to.

import { signal } from '@preact/signals'
import type { FunctionComponent } from 'preact'
import { useEffect } from 'preact/hooks'
import { reloadOnce } from '../frame/reload.ts'
import { Skeleton } from '../parts/answer.tsx'

const page = signal<FunctionComponent | undefined>(undefined)

export function LazySignIn() {
  useEffect(() => {
    import('./sign_in.tsx').then(
      ({ SignIn }) => {
        page.value = SignIn
      },
      () => reloadOnce(),
    )
  }, [])
  const Page = page.value
  return Page ? <Page /> : <Skeleton lines={8} />
}
