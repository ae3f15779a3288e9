// The operators' console.

import { lazy } from '../frame/lazy.tsx'
import { start } from '../frame/start.tsx'
import { find } from './find.ts'
import { OffSale } from './off_sale.tsx'
import { pages } from './pages.ts'
import { findWhatIsPasted } from './paste.ts'

findWhatIsPasted()
const SignIn = lazy(async () => (await import('../sign_in/sign_in.tsx')).SignIn)

await start({ pages, find, SignIn, Header: OffSale })
