// What was typed or pasted into the search field: a name, an id, an address, a transaction on the
// chain, or a customer's own id for an order.

import type { Finding } from '../shared/frame/face.ts'
import { shortText } from '../shared/parts/address.tsx'
import { path } from '../shared/paths/console.ts'
import { nameText } from '../shared/words/name.ts'
import { named, say } from '../shared/words/words.ts'
import { type Row, run } from './calls/calls.ts'

type Hit = Row<'find'>
type Kind = Hit['kind']

const HREF: Record<Kind, (found: Hit) => string> = {
  customer: ({ id }) => path.customer(id),
  order: ({ id }) => path.order(id),
  // What nobody has is decided where money is looked after.
  deposit: ({ customer_id }) => (customer_id === null ? path.money : path.customer(customer_id)),
  wallet: ({ id }) => path.wallet(id),
}

const kindText: Record<Kind, () => string> = {
  customer: () => say('find.customer'),
  order: () => say('find.order'),
  deposit: () => say('find.deposit'),
  wallet: () => say('find.wallet'),
}

export async function find(text: string): Promise<readonly Finding[]> {
  const found = await run('find', { text })
  return found.map((one) => {
    const { kind, id, name, state } = one
    const what = [kindText[kind](), state && named('state', state)].filter(Boolean).join(', ')
    return { href: HREF[kind](one), title: name === null ? shortText(id) : nameText(name), what }
  })
}
