// The chain as an outsider reads it: block by block over the node's HTTP API. Nothing here is shared with the service.

/** One call of the node: path and JSON in, JSON out. */
export type Post = (path: string, body: object) => Promise<unknown>

export type ChainTransaction = {
  tx_id: string
  type: string
  succeeded: boolean
  owner: string
  /** Whom it is for: the receiver of a transfer or of a delegation, or the account that is made. */
  to: string
  resource: 'energy' | 'bandwidth'
  sun: bigint
  block_number: number
  block_time_ms: number
}

export type ChainBlock = { number: number; id: string; parent_id: string; transactions: ChainTransaction[] }

/** The branch that the node stands on. `solid_number` is the last block that cannot be taken back. */
export type Branch = {
  blocks: ChainBlock[]
  solid_number: number
  transactions: Map<string, ChainTransaction>
}

type Json = { readonly [name: string]: Json } & Json[] & string

const AT_ONCE = 50

/** Reads the branch from block 1, or goes on from an earlier reading as far as that still holds. */
export async function readBranch(post: Post, earlier?: Branch): Promise<Branch> {
  const head = (await post('/wallet/getblock', { detail: false })) as Json
  const solid = (await post('/walletsolidity/getblock', { detail: false })) as Json
  const head_number = Number(head.block_header?.raw_data?.number)
  const solid_number = Number(solid.block_header?.raw_data?.number)
  const blocks = [...(earlier?.blocks ?? [])]
  // What was solid stays; above that a fork may have changed everything.
  while (blocks.length > 0 && blocks.at(-1)!.number > Math.min(earlier?.solid_number ?? 0, head_number)) blocks.pop()
  for (let start = (blocks.at(-1)?.number ?? 0) + 1; start <= head_number; start += AT_ONCE) {
    const end = Math.min(start + AT_ONCE, head_number + 1)
    const answer = (await post('/wallet/getblockbylimitnext', { startNum: start, endNum: end, visible: true })) as Json
    for (const one of (answer.block ?? []) as Json[]) blocks.push(blockOf(one))
  }
  for (const [i, { parent_id, number }] of blocks.entries()) {
    const parent = blocks[i - 1]
    if (parent && parent.id !== parent_id) throw new Error(`block ${number} does not follow the one before`)
  }
  const all = blocks.flatMap(({ transactions }) => transactions)
  return { blocks, solid_number, transactions: new Map(all.map((one) => [one.tx_id, one])) }
}

function blockOf(block: Json): ChainBlock {
  const raw = block.block_header!.raw_data!
  const place = { block_number: Number(raw.number), block_time_ms: Number(raw.timestamp) }
  const list = (block.transactions ?? []) as Json[]
  return {
    number: place.block_number,
    id: String(block.blockID),
    parent_id: String(raw.parentHash),
    transactions: list.map((one) => ({ ...transactionOf(one), ...place })),
  }
}

function transactionOf(one: Json): Omit<ChainTransaction, 'block_number' | 'block_time_ms'> {
  const contract = one.raw_data!.contract![0 as never] as Json
  const value = contract.parameter!.value as Json
  const to = value.to_address ?? value.receiver_address ?? value.account_address
  const sun = value.amount ?? value.balance ?? value.frozen_balance ?? 0
  return {
    tx_id: String(one.txID),
    type: String(contract.type),
    succeeded: (one.ret?.[0 as never] as Json | undefined)?.contractRet === ('SUCCESS' as never),
    owner: String(value.owner_address),
    to: String(to ?? ''),
    resource: String(value.resource) === 'ENERGY' ? 'energy' : 'bandwidth',
    sun: BigInt(String(sun)),
  }
}
