// Where the pages of the portal are. Every link is made here.

const BASE = '/portal'

export const path = {
  home: BASE,
  buy: `${BASE}/buy`,
  /** Without an account: who pays, and for how much energy. */
  recharge: (chosen: Record<string, string>) => `/buy?${new URLSearchParams(chosen)}`,
  orders: `${BASE}/orders`,
  order: (id: string) => `${BASE}/orders/${encodeURIComponent(id)}`,
  money: `${BASE}/money`,
  pair: `${BASE}/pair`,
  statement: `${BASE}/money/statement`,
  /** Of a month: `2026-10`. */
  statementOf: (month: string) => `${BASE}/money/statement?month=${encodeURIComponent(month)}`,
  invoices: `${BASE}/money/invoices`,
  invoice: (number: number) => `${BASE}/money/invoices/${number}`,
  subscriptions: `${BASE}/subscriptions`,
  subscription: (id: string) => `${BASE}/subscriptions/${encodeURIComponent(id)}`,
  screening: `${BASE}/screening`,
  check: (id: string) => `${BASE}/screening/${encodeURIComponent(id)}`,
  /** For paper, without scripts: a page of its own. */
  paperOfCheck: (id: string) => `${BASE}/reports/${encodeURIComponent(id)}`,
  paperOfInvoice: (number: string) => `${BASE}/invoices/${encodeURIComponent(number)}`,
  settings: `${BASE}/settings`,
  users: `${BASE}/settings/users`,
  record: `${BASE}/settings/record`,
  /** At `/portal/events` is the stream itself. */
  events: `${BASE}/developers/events`,
  event: (number: number) => `${BASE}/developers/events/${number}`,
  keys: `${BASE}/developers/keys`,
  /** Of a code; of any when it is empty. */
  refusals: (code = '') =>
    `${BASE}/developers/refusals${code === '' ? '' : `?code=${encodeURIComponent(code)}`}`,
  /** The endpoints with this in their name; all of them when it is empty. */
  reference: (filter = '') => `/docs${filter === '' ? '' : `?q=${encodeURIComponent(filter)}`}`,
  endpoint: (name: string) => `/docs/${encodeURIComponent(name)}`,
  webhooks: `${BASE}/developers/webhooks`,
  webhook: (id: string) => `${BASE}/developers/webhooks/${encodeURIComponent(id)}`,
}
