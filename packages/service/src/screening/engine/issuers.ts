// Asks tokens' contracts whether they have frozen an address. The log has the freezes since its
// first block; what was frozen before that, the contract alone says. An answer stays true until the
// log has a word on the address, and is asked for again after a day all the same. Whatever is no
// plain yes or no of every node that is asked is `not_asked`: never a no.

import { type Address, isAddress } from 'penstock-tron/address.ts'
import type { Node } from '../../chain/node/node.ts'
import { BoundedMap } from '../../chain/receivers/bounded_map.ts'
import { bareHex } from '../../chain/transfers/bare_addresses.ts'
import type { Clock } from '../../lib/clock.ts'
import { errorText, Outage } from '../../lib/fault.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'

/** `no_list`: the contract has no such function, and so no freeze list. */
export type IssuerWord = 'frozen' | 'not_frozen' | 'no_list' | 'not_asked'

/** Whom nobody has asked about lately, and asking. */
export type Issuers = {
  /** Those of the addresses of which a token's issuer has not been asked within a day, and the log
   *  does not say it. */
  unasked: (sql: Sql | Tx, addresses: readonly Address[]) => Promise<Address[]>
  /** Asks about those, and keeps what was said. Never throws for a node. */
  ask: (addresses: readonly Address[]) => Promise<void>
}

export type Needs = { sql: Sql; clock: Clock; node: Pick<Node, 'names' | 'only'> }

const ASK_AGAIN_MS = 86_400_000
/** After a question that was not answered none is asked for so long: others do not wait for a node
 *  that is down. */
const PAUSE_MS = 30_000
const AT_ONCE = 8
/** Two nodes, where there are two, must both say that an address is not frozen. */
const NODES_MAX = 2
const REMEMBERED_MAX = 100_000

type Pair = { address: Address; token: Address }

export function issuersOf({ sql, clock, node }: Needs): Issuers {
  const nodes = node.names.slice(0, NODES_MAX).map((name) => node.only(name))
  /** When an address was last found to be asked about, for all tokens. */
  const known_ms = new BoundedMap<Address, number>(REMEMBERED_MAX)
  /** The question under way about an address, for all who ask at the same time. It begins with the
   *  look: one who looked before the answer was kept, and asked after it, would ask again. */
  const asking = new Map<Address, Promise<void>>()
  let paused_until_ms = Number.NEGATIVE_INFINITY

  async function askOne(pair: Pair): Promise<void> {
    const { said, error } = await wordOf(nodes, pair)
    if (said === 'not_asked') paused_until_ms = clock.now().getTime() + PAUSE_MS
    const { address, token } = pair
    await sql`
      insert into issuer_word (address, token, asked_at, said, nodes, error)
      values (${address}, ${token}, ${clock.now()}, ${said}, ${nodes.length}, ${error})
      on conflict do nothing`
  }

  /** Asks about those of the addresses without an answer of the last day. */
  async function askAll(addresses: readonly Address[]): Promise<void> {
    const now = clock.now()
    const waiting = await unaskedPairs(sql, addresses, now)
    const open = new Set(unaskedAddresses(waiting))
    for (const address of addresses) if (!open.has(address)) known_ms.set(address, now.getTime())
    const askInTurn = async () => {
      while (clock.now().getTime() >= paused_until_ms) {
        const pair = waiting.pop()
        if (!pair) return
        await askOne(pair)
      }
    }
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, waiting.length) }, askInTurn))
  }

  const isKnown = (address: Address, now_ms: number) =>
    (known_ms.get(address) ?? Number.NEGATIVE_INFINITY) > now_ms - ASK_AGAIN_MS

  return {
    unasked: async (reading, addresses) =>
      unaskedAddresses(await unaskedPairs(reading, addresses, clock.now())),
    async ask(addresses) {
      const now_ms = clock.now().getTime()
      const open = addresses.filter((address) => !isKnown(address, now_ms))
      const mine = open.filter((address) => !asking.has(address))
      if (mine.length > 0) {
        const asked = askAll(mine).finally(() => {
          for (const address of mine) asking.delete(address)
        })
        for (const address of mine) asking.set(address, asked)
      }
      await Promise.all(open.map((address) => asking.get(address)))
    },
  }
}

const unaskedAddresses = (pairs: readonly Pair[]) => [
  ...new Set(pairs.map(({ address }) => address)),
]

/** Those of this network; on others there is nobody to ask. */
export const onThisNetwork = (addresses: readonly Address[]): Address[] => [
  ...new Set(addresses.filter((address) => isAddress(address))),
]

async function unaskedPairs(
  sql: Sql | Tx,
  addresses: readonly Address[],
  now: Date,
): Promise<Pair[]> {
  if (addresses.length === 0) return []
  const since = new Date(now.getTime() - ASK_AGAIN_MS)
  return sql<Pair>`
    select a.address, t.contract as token
    from unnest(${onThisNetwork(addresses)}::text[]) as a (address) cross join flow_asset as t
    where t.number > 0
      and not exists (select 1 from flow_freeze as f where f.address = a.address
        and f.token = t.contract)
      and not exists (select 1 from issuer_word as w where w.address = a.address
        and w.token = t.contract and w.said <> 'not_asked' and w.asked_at > ${since})
    order by 1, 2`
}

type IssuerAnswer = { said: IssuerWord; error: string | null }

/** What the nodes say together: frozen when one says so, otherwise what all of them say. */
async function wordOf(
  nodes: readonly Pick<Node, 'constantCall'>[],
  pair: Pair,
): Promise<IssuerAnswer> {
  const answers = await Promise.allSettled(nodes.map((node) => askNode(node, pair)))
  const said = answers.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  if (said.includes('frozen')) return { said: 'frozen', error: null }
  const broken = answers.find((one) => one.status === 'rejected')
  if (broken) {
    const { reason } = broken as PromiseRejectedResult
    if (!(reason instanceof Outage)) throw reason
    return { said: 'not_asked', error: errorText(reason.message) }
  }
  const [first] = said
  return first !== undefined && said.every((one) => one === first)
    ? { said: first, error: null }
    : { said: 'not_asked', error: 'the nodes contradict each other' }
}

async function askNode(
  node: Pick<Node, 'constantCall'>,
  { address, token }: Pair,
): Promise<Exclude<IssuerWord, 'not_asked'>> {
  const { succeeded, result, said } = await node.constantCall({
    // Any account may ask.
    owner: address,
    contract: token,
    selector: 'isBlackListed(address)',
    parameter: bareHex(address).padStart(64, '0'),
  })
  if (succeeded && /^0{63}[01]$/.test(result)) return result.endsWith('1') ? 'frozen' : 'not_frozen'
  if (!succeeded && /\bREVERT\b/.test(said)) return 'no_list'
  throw new Outage(`token ${token} does not say whether it froze an address: ${said || result}`)
}
