// The operators' console.

import { lazy } from '../shared/frame/lazy.tsx'
import { start } from '../shared/frame/start.tsx'
import { find } from './find.ts'
import { OffSale } from './now/off_sale.tsx'
import { pages } from './pages.ts'
import { findWhatIsPasted } from './paste.ts'

findWhatIsPasted()
const SignIn = lazy(async () => (await import('../shared/sign_in/sign_in.tsx')).SignIn)

await start({ pages, find, SignIn, Header: OffSale })
