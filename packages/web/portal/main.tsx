// The customers' portal.

import { start } from '../frame/start.tsx'
import { LazySignIn } from '../sign_in/lazy_sign_in.tsx'
import { find } from './find.ts'
import { pages } from './pages.ts'

await start({ pages, find, SignIn: LazySignIn })
