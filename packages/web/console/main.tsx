// The operators' console.

import { start } from '../frame/start.tsx'
import { LazySignIn } from '../sign_in/lazy_sign_in.tsx'
import { find } from './find.ts'
import { OffSale } from './off_sale.tsx'
import { pages } from './pages.ts'
import { findWhatIsPasted } from './paste.ts'

findWhatIsPasted()
await start({ pages, find, SignIn: LazySignIn, Header: OffSale })
