// What the service says to the database when it places orders together, written down as it is sent,
// so that pgbench can say the very same. Nothing of the service is changed for it: the connections
// of the driver are listened to while some orders are placed.

import pg from 'pg'

export type SentStatement = { text: string; values: unknown[] }
/** A transaction that placed orders, without its begin and commit. */
export type Placement = {
  statements: SentStatement[]
  /** Those placed by it, and what the customers call them. */
  orders: { id: string; external_id: string }[]
}

/** The transaction that placed the most orders of all that were sent meanwhile. */
export async function recordPlacing(url: string, load: () => Promise<unknown>): Promise<Placement> {
  const seen = await transactionsOf(load)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    let most: Placement | undefined
    for (const statements of seen) {
      const insert = statements.find(({ text }) => /^\s*insert into orders\b/.test(text))
      if (!insert) continue
      const ids = insert.values.flatMap((value) => orderIds(value))
      const { rows: orders } = await client.query<Placement['orders'][number]>(
        'select id, external_id from orders where id = any($1)',
        [ids],
      )
      if (orders.length > (most?.orders.length ?? 0)) most = { statements, orders }
    }
    if (!most) throw new Error('no transaction was seen that places orders')
    return most
  } finally {
    await client.end()
  }
}

const orderIds = (value: unknown): string[] =>
  typeof value === 'string' ? (value.match(/\b[0-9A-Z]{26}\b/gi) ?? []) : []

/** The statements between begin and commit, for each transaction that ended meanwhile. */
async function transactionsOf(load: () => Promise<unknown>): Promise<SentStatement[][]> {
  const open = new Map<pg.Client, SentStatement[]>()
  const ended: SentStatement[][] = []
  const own = pg.Client.prototype.query
  const listening = function (this: pg.Client, ...given: unknown[]): unknown {
    const [asked] = given as [string | SentStatement]
    if (asked === 'begin') open.set(this, [])
    else if (asked === 'commit') {
      ended.push(open.get(this) ?? [])
      open.delete(this)
    } else if (typeof asked === 'object')
      open.get(this)?.push({ text: asked.text, values: asked.values ?? [] })
    return Reflect.apply(own, this, given)
  }
  pg.Client.prototype.query = listening as typeof own
  try {
    await load()
  } finally {
    pg.Client.prototype.query = own
  }
  return ended
}
