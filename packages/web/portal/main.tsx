// The customers' portal.

import { lazy } from '../shared/frame/lazy.tsx'
import { start } from '../shared/frame/start.tsx'
import { find } from './find.ts'
import { pages } from './pages.ts'

const SignIn = lazy(async () => (await import('../shared/sign_in/sign_in.tsx')).SignIn)

/** The reference and buying without an account are for everybody, and outside of `/portal`; the
 *  codes are a page of the server. */
const own_links = /^\/(portal\/|buy(\?|$)|docs(?!\/refusals)(\/|\?|$))/

await start({ pages, find, SignIn, own_links })
