// What was typed or pasted into the search field: an id, an address, a transaction on the chain, or
// an id of the customer's own.

import { ask } from '../shared/calls/ask.ts'
import { may } from '../shared/calls/session.ts'
import type { Finding } from '../shared/frame/face.ts'
import { shortText } from '../shared/parts/address.tsx'
import { path } from '../shared/paths/portal.ts'
import { named, say } from '../shared/words/words.ts'

const ID = /^[0-9a-hjkmnp-tv-z]{26}$/
const ADDRESS = /^T[1-9A-HJ-NP-Za-km-z]{33}$/
const TX_ID = /^[0-9a-f]{64}$/
const EXTERNAL_ID_MAX = 128
/** Among how many of the last orders a transaction is looked for. */
const SEARCHED = 100
const SHOWN = 5

type Order = { id: string; external_id: string | null; service: string; status: string }

const foundOrder = ({ id, external_id, service, status }: Order): Finding => ({
  href: path.order(id),
  title: external_id ?? shortText(id),
  what: `${say('order')}, ${named('service', service)}, ${named('state', status)}`,
})

export async function find(text: string): Promise<readonly Finding[]> {
  if (!may('read')) return []
  if (ID.test(text.toLowerCase())) return byId(text.toLowerCase())
  if (ADDRESS.test(text)) {
    const { items } = await ask('/v1/transactions/list', { address: text, limit: SHOWN })
    return [
      ...items.map(foundOrder),
      {
        href: `${path.orders}?address=${text}`,
        title: shortText(text),
        what: say('find.orders_of'),
      },
    ]
  }
  if (TX_ID.test(text.toLowerCase())) return byTransaction(text.toLowerCase())
  if (text.length <= EXTERNAL_ID_MAX) {
    const { items } = await ask('/v1/transactions/list', { external_id_prefix: text, limit: SHOWN })
    return items.map(foundOrder)
  }
  return []
}

/** An order that a transaction on the chain delivered. */
async function byTransaction(tx_id: string): Promise<readonly Finding[]> {
  const { items } = await ask('/v1/transactions/list', { limit: SEARCHED })
  return items.filter(({ hash }) => hash === tx_id).map(foundOrder)
}

async function byId(id: string): Promise<readonly Finding[]> {
  const { transaction } = await ask('/v1/transaction/timeline', { id })
  return [foundOrder(transaction)]
}
