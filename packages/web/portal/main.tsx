// The customers' portal.

import { start } from '../frame/start.tsx'
import { SignIn } from '../sign_in/sign_in.tsx'
import { find } from './find.ts'
import { pages } from './pages.ts'

await start({ pages, find, SignIn })
