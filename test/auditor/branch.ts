// The chain as the auditor reads it: block by block over the node's HTTP API. Nothing here is
// shared with the service.

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
  /** What it took of this resource, its own or bought, as its receipt says. */
  energy_used: bigint
  /** What of it was there; for the rest TRX was burnt. */
  energy_staked: bigint
  /** TRX that it has withdrawn as the reward of votes. */
  reward_sun: bigint
  /** TRX that contracts have sent in it. */
  inner: { to: string; sun: bigint }[]
  block_number: number
  block_time_ms: number
}

export type ChainBlock = {
  number: number
  id: string
  parent_id: string
  transactions: ChainTransaction[]
}

/** The branch that the node stands on. `solid_number` is the last block that cannot be taken
 *  back. */
export type Branch = {
  blocks: ChainBlock[]
  solid_number: number
  transactions: Map<string, ChainTransaction>
}

const AT_ONCE = 50
/** Types whose receipts say what the transaction itself does not. */
const HAS_RECEIPT = ['TriggerSmartContract', 'WithdrawBalanceContract']

/** What is at a place in a JSON value; undefined when there is no such place. */
export function at(value: unknown, ...place: (string | number)[]): unknown {
  let found = value
  for (const name of place)
    found = (found as Record<string | number, unknown> | null | undefined)?.[name]
  return found
}

/** Reads the branch from a block on, or goes on from an earlier reading as far as that still
 *  holds. */
export async function readBranch(
  post: Post,
  from_block: number,
  earlier?: Branch,
): Promise<Branch> {
  const numberOf = async (path: string) =>
    Number(at(await post(path, { detail: false }), 'block_header', 'raw_data', 'number'))
  const head_number = await numberOf('/wallet/getblock')
  const solid_number = await numberOf('/walletsolidity/getblock')
  const blocks = [...(earlier?.blocks ?? [])]
  // What was solid stays; above that a fork may have changed everything.
  while (
    blocks.length > 0 &&
    blocks.at(-1)!.number > Math.min(earlier?.solid_number ?? 0, head_number)
  )
    blocks.pop()
  for (
    let start = blocks.at(-1) ? blocks.at(-1)!.number + 1 : from_block;
    start <= head_number;
    start += AT_ONCE
  ) {
    const asked = {
      startNum: start,
      endNum: Math.min(start + AT_ONCE, head_number + 1),
      visible: true,
    }
    const list = at(await post('/wallet/getblockbylimitnext', asked), 'block') ?? []
    for (const one of list as unknown[]) {
      const block = blockOf(one)
      if (block.transactions.some(({ type }) => HAS_RECEIPT.includes(type)))
        await addReceipts(post, block)
      blocks.push(block)
    }
  }
  for (const [i, { parent_id, number }] of blocks.entries()) {
    const parent = blocks[i - 1]
    if (parent && parent.id !== parent_id)
      throw new Error(`block ${number} does not follow the one before`)
  }
  const all = blocks.flatMap(({ transactions }) => transactions)
  return { blocks, solid_number, transactions: new Map(all.map((one) => [one.tx_id, one])) }
}

/** Only calls of contracts use energy, and send TRX on; rewards are in no transaction itself. */
async function addReceipts(post: Post, { number, transactions }: ChainBlock): Promise<void> {
  const receipts = (await post('/wallet/gettransactioninfobyblocknum', {
    num: number,
    visible: true,
  })) as unknown[]
  const by_id = new Map(receipts.map((one) => [at(one, 'id'), one]))
  for (const one of transactions) {
    const receipt = by_id.get(one.tx_id)
    one.energy_used = BigInt(String(at(receipt, 'receipt', 'energy_usage_total') ?? 0))
    one.energy_staked = BigInt(String(at(receipt, 'receipt', 'energy_usage') ?? 0))
    one.reward_sun = BigInt(String(at(receipt, 'withdraw_amount') ?? 0))
    one.inner = innerOf((at(receipt, 'internal_transactions') ?? []) as unknown[])
  }
}

/** The words 'call', 'create' and 'suicide' in hexadecimal. */
const SENDING = ['63616c6c', '637265617465', '73756963696465']

function innerOf(list: readonly unknown[]): ChainTransaction['inner'] {
  const sent = list.filter(
    (one) => SENDING.includes(String(at(one, 'note'))) && at(one, 'rejected') !== true,
  )
  return sent.flatMap((one) =>
    ((at(one, 'callValueInfo') ?? []) as unknown[])
      .filter((value) => at(value, 'tokenId') === undefined && at(value, 'callValue') !== undefined)
      .map((value) => ({
        to: String(at(one, 'transferTo_address')),
        sun: BigInt(String(at(value, 'callValue'))),
      })),
  )
}

function blockOf(block: unknown): ChainBlock {
  const raw = at(block, 'block_header', 'raw_data')
  const place = {
    block_number: Number(at(raw, 'number')),
    block_time_ms: Number(at(raw, 'timestamp')),
  }
  const list = (at(block, 'transactions') ?? []) as unknown[]
  return {
    number: place.block_number,
    id: String(at(block, 'blockID')),
    parent_id: String(at(raw, 'parentHash')),
    transactions: list.map((one) => ({ ...transactionOf(one), ...place })),
  }
}

function transactionOf(one: unknown): Omit<ChainTransaction, 'block_number' | 'block_time_ms'> {
  const contract = at(one, 'raw_data', 'contract', 0)
  const value = at(contract, 'parameter', 'value')
  const to =
    at(value, 'to_address') ?? at(value, 'receiver_address') ?? at(value, 'account_address')
  const sun = at(value, 'amount') ?? at(value, 'balance') ?? at(value, 'frozen_balance') ?? 0
  return {
    tx_id: String(at(one, 'txID')),
    type: String(at(contract, 'type')),
    succeeded: at(one, 'ret', 0, 'contractRet') === 'SUCCESS',
    owner: String(at(value, 'owner_address')),
    to: String(to ?? ''),
    resource: at(value, 'resource') === 'ENERGY' ? 'energy' : 'bandwidth',
    sun: BigInt(String(sun)),
    energy_used: 0n,
    energy_staked: 0n,
    reward_sun: 0n,
    inner: [],
  }
}
