// The pages of the console. Navigation, router and `/console/pages.json` are made of this table.

import type { PageRow } from '../shared/frame/face.ts'

/** Everybody who is signed in at the console may look at all of it: what changes something asks for
 *  the role. */
const page = (row: Pick<PageRow, 'path' | 'title' | 'section' | 'load'>): PageRow => ({
  ...row,
  scope: null,
})

export const pages: readonly PageRow[] = [
  page({ path: '/console', title: 'now', section: 'top', load: () => import('./now/now.tsx') }),
  page({
    path: '/console/orders',
    title: 'orders.all',
    section: 'top',
    load: () => import('./pages/orders.tsx'),
  }),
  page({
    path: '/console/orders/:id',
    title: 'order.one',
    section: null,
    load: () => import('./pages/order.tsx'),
  }),
  page({
    path: '/console/pool',
    title: 'pool',
    section: 'top',
    load: () => import('./pages/pool.tsx'),
  }),
  page({
    path: '/console/pool/:id',
    title: 'wallet',
    section: null,
    load: () => import('./pages/wallet.tsx'),
  }),
  page({
    path: '/console/chain',
    title: 'chain',
    section: 'top',
    load: () => import('./pages/chain.tsx'),
  }),
  page({
    path: '/console/customers',
    title: 'customers',
    section: 'top',
    load: () => import('./customers/customers.tsx'),
  }),
  page({
    path: '/console/customers/:id',
    title: 'customer',
    section: null,
    load: () => import('./customers/customer.tsx'),
  }),
  page({
    path: '/console/money',
    title: 'held',
    section: 'top',
    load: () => import('./pages/held.tsx'),
  }),
  page({
    path: '/console/prices',
    title: 'prices',
    section: 'top',
    load: () => import('./pages/prices.tsx'),
  }),
  page({
    path: '/console/screening',
    title: 'screening',
    section: 'top',
    load: () => import('./screening/screening.tsx'),
  }),
  page({
    path: '/console/screening/reviews/:id',
    title: 'review',
    section: null,
    load: () => import('./screening/review.tsx'),
  }),
  page({
    path: '/console/screening/lists/:id',
    title: 'lists.one',
    section: null,
    load: () => import('./screening/list.tsx'),
  }),
  page({
    path: '/console/books',
    title: 'books',
    section: 'top',
    load: () => import('./pages/books.tsx'),
  }),
  page({
    path: '/console/event-log',
    title: 'events',
    section: 'top',
    load: () => import('./pages/events.tsx'),
  }),
  page({
    path: '/console/record',
    title: 'record',
    section: 'top',
    load: () => import('./pages/record.tsx'),
  }),
  page({
    path: '/console/settings',
    title: 'settings',
    section: 'top',
    load: () => import('./settings/settings.tsx'),
  }),
  {
    path: '/console/join',
    title: 'join',
    scope: null,
    section: null,
    is_public: true,
    load: () => import('../shared/sign_in/join.tsx'),
  },
]
