// Where the pages of the console are. Every link is made here.

const BASE = '/console'

export const path = {
  now: BASE,
  orders: `${BASE}/orders`,
  open_orders: `${BASE}/orders?open=true`,
  pool: `${BASE}/pool`,
  chain: `${BASE}/chain`,
  order: (id: string) => `${BASE}/orders/${encodeURIComponent(id)}`,
  wallet: (address: string) => `${BASE}/pool/${encodeURIComponent(address)}`,
  customers: `${BASE}/customers`,
  customer: (id: string) => `${BASE}/customers/${encodeURIComponent(id)}`,
  prices: `${BASE}/prices`,
  money: `${BASE}/money`,
  month: `${BASE}/month`,
  record: `${BASE}/record`,
  /** A part of it; the first one when it is empty. */
  settings: (part = '') => `${BASE}/settings${part === '' ? '' : `?part=${part}`}`,
  books: `${BASE}/books`,
  screening: `${BASE}/screening`,
  review: (check: string) => `${BASE}/screening/reviews/${encodeURIComponent(check)}`,
  case: (id: string) => `${BASE}/screening/cases/${encodeURIComponent(id)}`,
  labelList: (list: string) => `${BASE}/screening/lists/${encodeURIComponent(list)}`,
  /** At `/console/events` is the stream itself. */
  events: `${BASE}/event-log`,
}
