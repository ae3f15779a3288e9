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
  {
    path: '/portal/buy',
    title: 'buy',
    scope: 'buy',
    section: 'top',
    load: () => import('../portal_orders/buy.tsx'),
  },
  {
    path: '/portal/orders',
    title: 'orders',
    scope: 'read',
    section: 'top',
    load: () => import('../portal_orders/orders.tsx'),
  },
  {
    path: '/portal/orders/:id',
    title: 'order',
    scope: 'read',
    section: null,
    load: () => import('../portal_orders/order.tsx'),
  },
  {
    path: '/portal/money',
    title: 'money',
    scope: 'read',
    section: 'top',
    load: () => import('../portal_money/money.tsx'),
  },
  {
    path: '/portal/money/statement',
    title: 'statement',
    scope: 'money',
    section: 'top',
    load: () => import('../portal_money/statement.tsx'),
  },
  {
    path: '/portal/developers/keys',
    title: 'keys',
    scope: ['manage', 'keys'],
    section: 'developers',
    load: () => import('../portal_keys/keys.tsx'),
  },
  {
    path: '/portal/developers/webhooks',
    title: 'webhooks',
    scope: 'webhooks',
    section: 'developers',
    load: () => import('../portal_webhooks/webhooks.tsx'),
  },
  {
    path: '/portal/developers/webhooks/:id',
    title: 'webhook',
    scope: 'webhooks',
    section: null,
    load: () => import('../portal_webhooks/webhook.tsx'),
  },
  {
    path: '/portal/developers/events',
    title: 'events',
    scope: 'read',
    section: 'developers',
    load: () => import('../portal_developers/events.tsx'),
  },
  {
    path: '/portal/developers/events/:number',
    title: 'event',
    scope: 'read',
    section: null,
    load: () => import('../portal_developers/event.tsx'),
  },
  {
    path: '/portal/developers/refusals',
    title: 'refusals',
    scope: 'read',
    section: 'developers',
    load: () => import('../portal_developers/refusals.tsx'),
  },
  {
    path: '/portal/join',
    title: 'join',
    scope: null,
    section: null,
    is_public: true,
    load: () => import('../sign_in/join.tsx'),
  },
]
