// The chain as the books' check needs it: what is solid, read from a node once more and by another
// way than the service did. Deposits and our own transactions are looked for in the blocks that we
// noted; what our wallets delegate is what the chain itself says, no matter who delegated it.

import type { Address } from 'penstock-tron/address.ts'
import {
  fieldsOf,
  integer,
  listOf,
  parseNodeJson,
  refusalText,
  text,
} from '../../chain/node/answers.ts'
import {
  hostOf,
  type Node,
  type NodeOptions,
  type Resource,
  type Transport,
  tronNode,
  withoutKeys,
} from '../../chain/node/node.ts'
import { wireTime } from '../../lib/clock.ts'
import { Outage } from '../../lib/fault.ts'
import { eachAtOnce } from '../../lib/portions.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'

/** A node to compare with. */
export type ChainView = {
  node: Node
  /** One request to it; answers what the node's JSON says. Throws Outage. */
  ask(path: string, body: object): Promise<unknown>
}

/** The service prefers the first node that answers: here the last is asked first, and what only is
 *  asked here goes to it alone. */
export function chainView(nodes: NodeOptions['nodes'], transport: Transport): ChainView {
  const last = nodes.at(-1) ?? { url: '' }
  const { url, solid_url = url, headers = {} } = last
  async function ask(path: string, body: object): Promise<unknown> {
    const side = (path.startsWith('/walletsolidity/') ? solid_url : url).replace(/\/+$/, '')
    const request = {
      url: side + path,
      body: JSON.stringify(body),
      headers,
      timeout_ms: TIMEOUT_MS,
    }
    const answer = await transport(request).catch((cause: unknown) => {
      throw new Outage(`node ${hostOf(side)}`, { cause })
    })
    if (answer.status !== 200)
      throw new Outage(`node ${hostOf(side)} answers ${path} with HTTP ${answer.status}`)
    const value = fieldsOf(parseNodeJson(answer.body, path), path)
    if (value.Error !== undefined)
      throw new Outage(`node ${hostOf(side)} answers ${path} with ${refusalText(value.Error)}`)
    return value
  }
  return {
    node: tronNode({ nodes: nodes.toReversed(), transport }),
    ask: (path, body) =>
      ask(path, body).catch((thrown: unknown) => {
        throw withoutKeys(thrown, last)
      }),
  }
}

const TIMEOUT_MS = 30_000

/** Told by the thing and by what is wrong with it. */
export type Finding = { subject: string; found: string }

/** No more than this many are told of one rule. */
export const FINDINGS_MAX = 1_000

/** Requests under way at a time: a check must not slow the node down for the service. */
const AT_ONCE = 4
const BLOCKS_OF_A_PART = 500

const each = <Item>(items: readonly Item[], work: (item: Item) => Promise<void>) =>
  eachAtOnce(items, AT_ONCE, work)

type NotedTransaction = {
  block_number: bigint
  tx_id: string
  /** Of ours: receipts say them. Null: not noted. */
  block_id: string | null
  block_time: Date | null
  deposit: NotedDeposit | null
}
type NotedDeposit = { position: number; from: Address; to: Address; amount_sun: string }

/** What of the deposits (C6) and of our solid transactions (C5) since a time is not in the solid
 *  blocks we noted. What was found before is looked at again, however old it is. */
export async function missingOnChain(
  sql: Sql,
  { node }: ChainView,
  since: Date | null,
): Promise<{ deposits: Finding[]; unseen: Finding[]; attempts: Finding[]; blocks: number }> {
  const result = {
    deposits: [] as Finding[],
    unseen: [] as Finding[],
    attempts: [] as Finding[],
    blocks: 0,
  }
  let after = -1n
  for (;;) {
    const noted = await sql<NotedTransaction>`
      with noted as (
        select block_number, tx_id, null::text as block_id, null::timestamptz as block_time,
               json_build_object('position', position, 'from', from_address, 'to',
                 to_address, 'amount_sun', amount_sun::text) as deposit
        from deposit
        where solid_at is not null and amount_sun is not null
          and (${since}::timestamptz is null or block_time >= ${since} or tx_id in (select subject
            from books_finding))
        union all
        select block_number, tx_id, block_id, block_time, null from attempt
        where state = 'solid'
          and (${since}::timestamptz is null or block_time >= ${since} or tx_id in (select subject
            from books_finding))
      )
      select block_number, tx_id, block_id, block_time, deposit from noted where block_number in (
        select distinct block_number from noted where block_number > ${after} order by 1
          limit ${BLOCKS_OF_A_PART})
      order by block_number`
    const blocks = Map.groupBy(noted, (one) => one.block_number)
    if (blocks.size === 0) return result
    result.blocks += blocks.size
    after = noted.at(-1)!.block_number
    await each([...blocks], async ([number, ones]) => {
      const [block] = await node.blocks(Number(number), Number(number), 'solid')
      const inner = block && ones.some(({ deposit }) => (deposit?.position ?? 0) < 0)
      const receipts = inner ? await node.receipts(block, 'solid') : []
      for (const one of ones) {
        const found = block
          ? difference(one, block, receipts)
          : `the node has no solid block ${number}`
        if (found === undefined) continue
        if (found === UNSEEN) {
          const shown = await isShownByOther(node, Number(number), one)
          if (!shown) result.unseen.push({ subject: one.tx_id, found })
          continue
        }
        const place = one.deposit ? result.deposits : result.attempts
        place.push({ subject: one.tx_id, found })
      }
    })
  }
}

/** Nodes show what contracts send only when they are told to keep it: one that shows nothing
 *  contradicts nobody. */
const UNSEEN = 'the node does not show what contracts send'

async function isShownByOther(
  node: Node,
  number: number,
  noted: NotedTransaction,
): Promise<boolean> {
  for (const name of node.names) {
    const other = node.only(name)
    const shown = await other
      .blocks(number, number, 'solid')
      .then(
        async ([block]) =>
          block && difference(noted, block, await other.receipts(block, 'solid')) === undefined,
      )
      .catch((thrown: unknown) => {
        if (thrown instanceof Outage) return false
        throw thrown
      })
    if (shown) return true
  }
  return false
}

type SolidBlock = Awaited<ReturnType<Node['blocks']>>[number]

type Receipts = Awaited<ReturnType<Node['receipts']>>

function difference(
  { tx_id, block_id, block_time, deposit }: NotedTransaction,
  block: SolidBlock,
  receipts: Receipts,
): string | undefined {
  const succeeded = block.transactions.some((one) => one.tx_id === tx_id && one.succeeded)
  if (!succeeded) return `it is not in the solid block ${block.number}`
  if (block_id !== null && block_id !== block.id)
    return `the solid block ${block.number} is ${block.id}`
  if (block_time !== null && block_time.getTime() !== block.time.getTime())
    return `the solid block ${block.number} was made at ${wireTime(block.time)}`
  if (deposit === null) return undefined
  if (deposit.position < 0) {
    const { internal = [], internal_shown = 0 } = receipts.find((one) => one.tx_id === tx_id) ?? {}
    if (internal_shown === 0) return UNSEEN
    const there = internal.some(
      ({ from, to, amount, asset }) =>
        asset === undefined &&
        from === deposit.from &&
        to === deposit.to &&
        amount === BigInt(deposit.amount_sun),
    )
    return there ? undefined : `in the block ${block.number} no contract sent it`
  }
  const transfer = block.transfers.find((one) => one.tx_id === tx_id)
  if (!transfer) return `in the block ${block.number} it is not a transfer of TRX`
  const same =
    transfer.from === deposit.from &&
    transfer.to === deposit.to &&
    transfer.amount_sun === BigInt(deposit.amount_sun)
  return same
    ? undefined
    : `on the chain ${transfer.amount_sun} sun went from ${transfer.from} to ${transfer.to}`
}

/** Where the chain shows less at an address where deposits arrive than was booked as having come
 *  there, less what was seen to leave (C13). What only will be seen to leave is given the benefit
 *  of the doubt. */
export async function missingHoldings(
  sql: Sql,
  { node }: ChainView,
  since: Date | null,
): Promise<Finding[]> {
  const addresses = await sql<{ address: Address }>`
    select address from holding as h where prior_sun is not null and (
      address in (select subject from books_finding) or exists (
        select 1 from deposit as d where d.to_address = h.address and d.solid_at is not null
          and amount_sun is not null
          and (${since}::timestamptz is null or d.block_time >= ${since})))
    order by address`
  const findings: Finding[] = []
  await each(addresses, async ({ address }) => {
    const before = await node.solidHead()
    const held_sun = await node.holdings(address)
    const after = await node.solidHead()
    const [booked] = await sql<{ sun: bigint; fees_known: boolean }>`
      select prior_sun
             + coalesce((select sum(amount_sun)::bigint from deposit
                where to_address = ${address} and solid_at is not null
                  and block_number <= ${before.number}), 0)
             - coalesce((select sum(amount_sun + coalesce(fee_sun, 0))::bigint from deposit_outflow
                where address = ${address} and block_number <= ${after.number}), 0) as sun,
             not exists (select 1 from deposit_outflow where address = ${address}
               and fee_sun is null) as fees_known
      from holding where address = ${address}`
    if (!booked?.fees_known || held_sun >= booked.sun) return
    findings.push({
      subject: address,
      found: `the chain shows ${booked.sun - held_sun} sun less than was booked there`,
    })
  })
  return findings
}

/** Where a receipt of the solid chain has withdrawn something else than a claim says (C19). */
export async function wrongReceipts(
  sql: Sql,
  { node }: ChainView,
  since: Date | null,
): Promise<Finding[]> {
  const claims = await sql<{ id: string; tx_id: string; reward_sun: bigint }>`
    select c.id, a.tx_id, reward_sun from reward_claim as c join attempt as a on a.id = c.attempt_id
    where c.state = 'claimed' and (${since}::timestamptz is null or c.ended_at >= ${since})
    order by c.id`
  const findings: Finding[] = []
  await each(claims, async ({ id, tx_id, reward_sun }) => {
    const sun = await node.rewardOf(tx_id)
    if (sun === reward_sun) return
    findings.push({
      subject: `claim ${id}`,
      found: `${reward_sun} sun are booked, ${tx_id} has withdrawn ${sun ?? 'nothing'}`,
    })
  })
  return findings
}

type Place = { wallet: Address; receiver: Address; resource: Resource }

const placeText = ({ wallet, receiver, resource }: Place) => `${wallet} ${receiver} ${resource}`

/** Where the stake that our wallets delegate on the solid chain is not the sum of our live
 *  delegations (C8). A place that changes while it is read may have either sum. */
export async function wrongStakes(sql: Sql, { node, ask }: ChainView): Promise<Finding[]> {
  const wallets = await sql<{ address: Address }>`
    select address from pool_wallet union
    select wallet from delegation where state in ('delegating', 'active', 'reclaiming') order by 1`
  const first = await node.solidHead()
  const stakes = new Map<string, bigint>()
  const places: Place[] = []
  await each(wallets, async ({ address: wallet }) => {
    for (const receiver of await receiversOf(ask, wallet)) {
      for (const resource of ['energy', 'bandwidth'] as const)
        places.push({ wallet, receiver, resource })
      for (const [resource, sun] of await delegatedStakes(ask, wallet, receiver))
        stakes.set(placeText({ wallet, receiver, resource }), sun)
    }
  })
  const last = await node.solidHead()
  const [before, after] = await expectedStakes(sql, first.number, last.number)
  const findings: Finding[] = []
  for (const place of new Set([...places.map(placeText), ...before.keys(), ...after.keys()])) {
    const sun = stakes.get(place) ?? 0n
    const [ours, ours_after] = [before.get(place) ?? 0n, after.get(place) ?? 0n]
    if (sun === ours || sun === ours_after) continue
    findings.push({
      subject: place,
      // Told by the difference, which stays the same while the place is used.
      found: `the chain has ${sun - ours_after} sun more delegated than our delegations add up to`,
    })
  }
  return findings
}

type Ask = ChainView['ask']

async function receiversOf(ask: Ask, wallet: Address): Promise<Address[]> {
  const path = '/walletsolidity/getdelegatedresourceaccountindexv2'
  const { toAccounts = [] } = fieldsOf(await ask(path, { value: wallet, visible: true }), path)
  return listOf(toAccounts, path).map((one) => text(one, path))
}

/** A pair may have two rows: what is locked and what is not. */
async function delegatedStakes(
  ask: Ask,
  wallet: Address,
  receiver: Address,
): Promise<[Resource, bigint][]> {
  const path = '/walletsolidity/getdelegatedresourcev2'
  const answer = fieldsOf(
    await ask(path, { fromAddress: wallet, toAddress: receiver, visible: true }),
    path,
  )
  const rows = listOf(answer.delegatedResource ?? [], path).map((row) => fieldsOf(row, path))
  const sum = (field: string) =>
    rows.reduce((sun, row) => sun + BigInt(integer(row[field] ?? 0, path)), 0n)
  return [
    ['energy', sum('frozen_balance_for_energy')],
    ['bandwidth', sum('frozen_balance_for_bandwidth')],
  ]
}

/** What our live delegations add up to as of two blocks, in one look. Throws Outage while we have
 *  not come that far. */
async function expectedStakes(
  sql: Sql | Tx,
  ...numbers: [number, number]
): Promise<[Map<string, bigint>, Map<string, bigint>]> {
  const [behind] = await sql<{
    head_number: bigint
  }>`select head_number from chain where head_number < ${numbers[1]}`
  if (behind) {
    throw new Outage(
      `the node's solid chain reaches ${numbers[1]} and has been followed to ` +
        `${behind.head_number} only`,
    )
  }
  const rows = await sql<Place & Record<'before_sun' | 'after_sun', bigint>>`
    select wallet, receiver, resource,
           coalesce(sum(stake_sun) filter (where a.block_number <= ${numbers[0]}
             and (r.block_number is null or r.block_number > ${numbers[0]})),
               0)::bigint as before_sun,
           coalesce(sum(stake_sun) filter (where a.block_number <= ${numbers[1]}
             and (r.block_number is null or r.block_number > ${numbers[1]})),
               0)::bigint as after_sun
    from delegation as d join attempt as a on a.id = d.attempt_id left join attempt as r
      on r.id = d.reclaim_id
    where a.block_number is not null and (r.block_number is null or r.block_number > ${numbers[0]})
    group by wallet, receiver, resource`
  return [
    new Map(rows.map((row) => [placeText(row), row.before_sun])),
    new Map(rows.map((row) => [placeText(row), row.after_sun])),
  ]
}
