// The operators' console.

import { start } from '../frame/start.tsx'
import { SignIn } from '../sign_in/sign_in.tsx'
import { find } from './find.ts'
import { OffSale } from './off_sale.tsx'
import { pages } from './pages.ts'

await start({ pages, find, SignIn, Header: OffSale })
