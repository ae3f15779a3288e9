// The pages of the console. Navigation, router and `/console/pages.json` are made of this table.

import type { PageRow } from '../shared/frame/face.ts'

/** Everybody who is signed in at the console may look at all of it: what changes something asks for
 *  the role. */
const page = (row: Omit<PageRow, 'scope' | 'is_public'>): PageRow => ({
  ...row,
  scope: null,
})

export const pages: readonly PageRow[] = [
  page({
    path: '/console',
    title: 'now',
    section: 'top',
    icon: 'chart-line',
    is_main: true,
    load: () => import('./now/now.tsx'),
  }),
  page({
    path: '/console/orders',
    title: 'orders.all',
    section: 'top',
    icon: 'list',
    is_main: true,
    load: () => import('./pages/orders.tsx'),
  }),
  page({
    path: '/console/orders/:id',
    title: 'order.one',
    section: null,
    load: () => import('./pages/order.tsx'),
  }),
  page({
    path: '/console/customers',
    title: 'customers',
    section: 'top',
    icon: 'users',
    is_main: true,
    load: () => import('./customers/customers.tsx'),
  }),
  page({
    path: '/console/customers/:id',
    title: 'customer',
    section: null,
    load: () => import('./customers/customer.tsx'),
  }),
  page({
    path: '/console/pool',
    title: 'pool',
    section: 'section.delivery',
    icon: 'layers',
    is_main: true,
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
    section: 'section.delivery',
    icon: 'blocks',
    load: () => import('./pages/chain.tsx'),
  }),
  page({
    path: '/console/event-log',
    title: 'events',
    section: 'section.delivery',
    icon: 'activity',
    load: () => import('./pages/events.tsx'),
  }),
  page({
    path: '/console/money',
    title: 'money.house',
    section: 'section.finance',
    icon: 'coins',
    load: () => import('./finance/money.tsx'),
  }),
  page({
    path: '/console/month',
    title: 'month',
    section: 'section.finance',
    icon: 'receipt-text',
    load: () => import('./finance/month.tsx'),
  }),
  page({
    path: '/console/prices',
    title: 'prices',
    section: 'section.finance',
    icon: 'tag',
    load: () => import('./finance/prices.tsx'),
  }),
  page({
    path: '/console/books',
    title: 'books',
    section: 'section.finance',
    icon: 'scale',
    load: () => import('./pages/books.tsx'),
  }),
  page({
    path: '/console/screening',
    title: 'screening',
    section: 'section.compliance',
    icon: 'shield-check',
    load: () => import('./screening/screening.tsx'),
  }),
  page({
    path: '/console/screening/reviews/:id',
    title: 'review',
    section: null,
    load: () => import('./screening/review.tsx'),
  }),
  page({
    path: '/console/screening/cases/:id',
    title: 'case',
    section: null,
    load: () => import('./screening/case.tsx'),
  }),
  page({
    path: '/console/screening/lists/:id',
    title: 'lists.one',
    section: null,
    load: () => import('./screening/list.tsx'),
  }),
  page({
    path: '/console/record',
    title: 'record',
    section: 'section.compliance',
    icon: 'history',
    load: () => import('./pages/record.tsx'),
  }),
  page({
    path: '/console/settings',
    title: 'settings',
    section: 'section.account',
    icon: 'settings',
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
