// The customers' portal.

import { lazy } from '../shared/frame/lazy.tsx'
import { start } from '../shared/frame/start.tsx'
import { find } from './find.ts'
import { pages } from './pages.ts'

const SignIn = lazy(async () => (await import('../shared/sign_in/sign_in.tsx')).SignIn)

await start({ pages, find, SignIn })
