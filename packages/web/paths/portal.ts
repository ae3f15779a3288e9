// Where the pages of the portal are. Every link is made here.

const BASE = '/portal'

export const path = {
  home: BASE,
  buy: `${BASE}/buy`,
  orders: `${BASE}/orders`,
  order: (id: string) => `${BASE}/orders/${encodeURIComponent(id)}`,
  money: `${BASE}/money`,
  statement: `${BASE}/money/statement`,
  events: `${BASE}/developers/events`,
  event: (number: number) => `${BASE}/developers/events/${number}`,
  keys: `${BASE}/developers/keys`,
  /** Of a code; of any when it is empty. */
  refusals: (code = '') =>
    `${BASE}/developers/refusals${code === '' ? '' : `?code=${encodeURIComponent(code)}`}`,
  webhooks: `${BASE}/developers/webhooks`,
  webhook: (id: string) => `${BASE}/developers/webhooks/${encodeURIComponent(id)}`,
}
