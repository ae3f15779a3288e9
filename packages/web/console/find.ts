// What was typed or pasted into the search field: an order's id, or a customer's own id for one.

import { run } from '../console_calls/calls.ts'
import type { Finding } from '../frame/face.ts'
import { shortText } from '../parts/address.tsx'
import { path } from '../paths/console.ts'
import { named, say } from '../words/words.ts'

type Order = { id: string; service: string; state: string }

export async function find(text: string): Promise<readonly Finding[]> {
  const { id, service, state } = await run<Order>('orders show', { order: text })
  const what = `${named('service', service)}, ${named('state', state)}`
  return [{ href: path.order(id), title: shortText(id), what: `${say('order.one')}, ${what}` }]
}
