// Endpoints called without a server: the body is one that the schema has let through.

import type { Customer, Endpoint } from 'penstock-service/platform/wire/endpoint.ts'

/** Whose call it is, unless a test says otherwise. */
export const CALLER: Customer = {
  customer_id: 'anna',
  key_id: 'k',
  scopes: undefined,
  daily_cap_sun: undefined,
  receivers: undefined,
  require_external_id: false,
  suspended: false,
}

type EndpointCall = {
  body?: object
  customer?: Partial<Customer>
  headers?: Record<string, string>
  /** What is sent along with the answer is written into it. */
  reply_headers?: Record<string, string | string[]>
}

/** What an endpoint answers; rejects with its fault. */
export function askEndpoint(
  routes: readonly Endpoint[],
  path: string,
  { body = {}, customer, headers = {}, reply_headers = {} }: EndpointCall = {},
): Promise<unknown> {
  const endpoint = routes.find((one) => one.path === path)
  if (!endpoint) throw new Error(`there is no endpoint ${path}`)
  const caller = { ...CALLER, ...customer }
  const place = { request_id: 'r', ip: '192.0.2.1' }
  return endpoint.handle({ body, customer: caller, ...place, headers, reply_headers })
}
