// The pages of the portal. Navigation, router and `/portal/pages.json` are made of this table.

import type { PageRow } from '../frame/face.ts'

export const pages: readonly PageRow[] = [
  {
    path: '/portal',
    title: 'home',
    scope: 'read',
    section: 'top',
    load: () => import('./home.tsx'),
  },
]
