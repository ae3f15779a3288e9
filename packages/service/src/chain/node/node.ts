// The client of a TRON node's HTTP API. A real node serves two sides, `/wallet` (head, with pending
// transactions) and `/walletsolidity` (irreversible), on two ports; a provider or the devchain
// serves both under one address.
//
// Reads go to the first node that answers, and on to one that is ahead when its head stands still.
// Broadcasts go to all of them. Whatever a node answers is checked here; what does not fit is an
// Outage, like no answer at all: nothing further in has to ask again whether an id is an id.

import type { Address } from 'penstock-tron/address.ts'
import { errorText, Outage } from '../../lib/fault.ts'
import {
  type AccountState,
  accountOf,
  holdingsOf,
  type Resource,
  type ResourceState,
  resourceOf,
} from './account_answers.ts'
import {
  fieldsOf,
  hexOfAnyCase,
  integer,
  isBusyAnswer,
  listOf,
  NodeBusy,
  parseNodeJson,
  plain,
  refusalText,
  signed,
  text,
} from './answers.ts'
import {
  type Block,
  type BlockHead,
  blockOf,
  headOf,
  isSuccess,
  type Receipt,
  receiptsOf,
} from './block_answers.ts'
import type { Transport } from './transport.ts'

export type { AccountState, Permission, Resource } from './account_answers.ts'
export type { Block, BlockHead, Receipt } from './block_answers.ts'
export { httpTransport, type Transport } from './transport.ts'

/** Where a transaction is: in a solid block, only in one of the head (or pending), or nowhere that
 *  any node knows. */
export type Whereabouts =
  | { found: 'solid'; block_number: number }
  | { found: 'head' }
  | { found: 'nowhere' }
/** What a contract's function would do. `energy` includes the penalty of the dynamic energy
 *  model. */
export type ConstantCall = { succeeded: boolean; energy: bigint; result: string; said: string }
/** What one node said to a broadcast. `accepted` is a hint: neither inclusion nor refusal follows
 *  from it. */
export type BroadcastAnswer = { accepted: boolean; said: string }
/** Whether a node's solid chain has a transaction, and how far that chain reached when it said
 *  so. */
export type SolidFinding = { found: boolean; solid_number: number }

/** The node's newest blocks, or only those that are solid. */
export type Side = 'head' | 'solid'

export type Node = {
  /** The names of the nodes: their hosts, since addresses may hold keys. Two at one host are
   *  one. */
  readonly names: readonly string[]
  /** A client of the node with that name alone, so that what one says can be held against what
   *  others say. */
  only(name: string): Node
  /** From now on these are read from only when no other answers. */
  avoid(names: ReadonlySet<string>): void
  head(): Promise<BlockHead>
  solidHead(): Promise<BlockHead>
  /** Blocks from `first` to `last`, both included, at most 100; of the solid chain when `side` says
   *  so. Fewer when the node has no more. */
  blocks(first: number, last: number, side: Side): Promise<Block[]>
  /** The receipts of a block's transactions, in their order. Rejects while the node does not have
   *  all of them. */
  receipts(block: Block, side: Side): Promise<Receipt[]>
  /** A block and its receipts, asked for at the same time; undefined while the node does not have
   *  the block. */
  blockWithReceipts(
    number: number,
    side: Side,
  ): Promise<{ block: Block; receipts: Receipt[] } | undefined>
  /** Runs a function of a contract on the solid state and changes nothing. */
  constantCall(call: {
    owner: Address
    contract: Address
    selector: string
    parameter: string
  }): Promise<ConstantCall>
  /** Asks every node. Rejects when one of them does not answer and none has the transaction. */
  whereabouts(tx_id: string): Promise<Whereabouts>
  /** The chain parameters that have a value, by name. */
  parameters(): Promise<Map<string, bigint>>
  /** The account as the head and its pending transactions have it. */
  account(address: Address): Promise<AccountState>
  /** The same as every node that answers has it. Rejects when none does. */
  accountEverywhere(address: Address): Promise<AccountState[]>
  /** All TRX of the account on the solid chain, in sun: its balance and its stakes, what it
   *  delegates included. */
  holdings(address: Address): Promise<bigint>
  /** What the network took for a transaction of the solid chain, in sun; undefined when that does
   *  not have it. */
  feeOf(tx_id: string): Promise<bigint | undefined>
  /** The sun that the votes of an account have earned and it has not withdrawn. */
  reward(address: Address): Promise<bigint>
  /** The sun that a transaction of the solid chain has withdrawn of it; undefined when that does
   *  not have it. */
  rewardOf(tx_id: string): Promise<bigint | undefined>
  /** When votes are counted next, on the chain's clock. */
  nextMaintenance(): Promise<Date>
  resource(address: Address, resource: Resource): Promise<ResourceState>
  /** Both resources, by one request. */
  resources(address: Address): Promise<Record<Resource, ResourceState>>
  /** How much of the owner's stake can be delegated now, in sun. */
  delegable(owner: Address, resource: Resource): Promise<bigint>
  /** Sends the same bytes to every node. Never rejects: a node that does not answer is one of the
   *  answers. */
  broadcast(signed: Uint8Array): Promise<BroadcastAnswer[]>
  /** Asks every node. Rejects when one of them does not answer: absence needs all of them. */
  solidTransaction(tx_id: string): Promise<SolidFinding[]>
  /** Whether two nodes, or the only one, have the transaction in a block of the head's branch, as a
   *  success. Never rejects: who does not answer does not have it. */
  isWitnessed(tx_id: string): Promise<boolean>
}

export type NodeOptions = {
  /** One or more nodes; each may have a second address for its solid side. */
  nodes: readonly { url: string; solid_url?: string; headers?: Record<string, string> }[]
  transport: Transport
  timeout_ms?: number
  observer?: NodeObserver | undefined
}

/** Told how requests of nodes go; nodes by their names. */
export type NodeObserver = {
  /** A request begins. What it returns is told when it is over. */
  begun(name: string, path: string): (end: RequestEnd) => void
  /** This is the newest block of that node. */
  headSeen(name: string, number: number): void
}
/** `status` of HTTP, undefined: no answer came. `error` undefined: the answer was of use. */
export type RequestEnd = { status: number | undefined; error: string | undefined }

const BLOCKS_MAX = 100
/** All others only read. */
const BROADCAST = '/wallet/broadcasthex'
/** Timeout for a node whose last broadcast timed out, while others respond. */
const SILENT_MS = 1_000
/** How often in a row the same head is taken for the newest: the follower asks four times a
 *  second. */
const STANDING_MAX = 100

type ConfiguredNode = NodeOptions['nodes'][number]
type Question = { path: string; body: object; timeout_ms?: number }

const nameOf = ({ url }: ConfiguredNode) => new URL(url).host

/** The nodes that are configured, and which of them is asked. */
class Nodes {
  readonly all: readonly ConfiguredNode[]
  readonly timeout_ms: number
  readonly observer: NodeObserver | undefined
  readonly #transport: Transport
  /** The node that is asked first: one that hangs costs its time limit once, and not for every
   *  read. */
  preferred = 0
  avoided: ReadonlySet<string> = new Set()

  constructor({ nodes, transport, timeout_ms = 5_000, observer }: NodeOptions) {
    if (nodes.length === 0) throw new TypeError('at least one node is needed')
    this.all = nodes
    this.observer = observer
    this.timeout_ms = timeout_ms
    this.#transport = transport
  }

  isAvoided(i: number): boolean {
    return this.avoided.has(nameOf(this.all[i]!))
  }

  /** Asks one node. Throws Outage when it does not answer, refuses, or answers what makes no
   *  sense. */
  async ask<T>(
    node: ConfiguredNode,
    { path, body, timeout_ms = this.timeout_ms }: Question,
    parse: (answer: unknown, from: string) => T,
  ): Promise<T> {
    const side = path.startsWith('/walletsolidity/') ? (node.solid_url ?? node.url) : node.url
    const url = side.replace(/\/+$/, '') + path
    const name = hostOf(side)
    const { headers = {} } = node
    const repeatable = path !== BROADCAST
    const request = { url, body: JSON.stringify(body), headers, timeout_ms, repeatable }
    const end = this.observer?.begun(nameOf(node), path)
    let status: number | undefined
    try {
      const answer = await this.#transport(request).catch((cause: unknown) => {
        throw new Outage(`node ${name} does not answer ${path}`, { cause })
      })
      status = answer.status
      if (isBusyAnswer(answer)) throw new NodeBusy(`node ${name} is asked too much: HTTP ${status}`)
      if (status !== 200) throw new Outage(`node ${name} answers ${path} with HTTP ${status}`)
      const value = parse(answerIn(answer.body, name, path), nameOf(node))
      end?.({ status, error: undefined })
      return value
    } catch (thrown) {
      const told = withoutKeys(thrown, node)
      end?.({ status, error: told instanceof Error ? told.message : String(told) })
      throw told
    }
  }

  /** The first node that gives a sensible answer gives the answer. */
  async read<T>(
    path: string,
    body: object,
    parse: (answer: unknown, from: string) => T,
  ): Promise<T> {
    const { all, preferred: first } = this
    let last: unknown
    const order = [...all.keys()].map((i) => (first + i) % all.length)
    if (this.avoided.size > 0)
      order.sort((a, b) => Number(this.isAvoided(a)) - Number(this.isAvoided(b)))
    for (const i of order) {
      try {
        const value = await this.ask(all[i]!, { path, body }, parse)
        if (i !== first) this.preferred = i
        return value
      } catch (thrown) {
        if (!(thrown instanceof Outage)) throw thrown
        // One that is asked too much answers in a while.
        if (!(last instanceof NodeBusy)) last = thrown
      }
    }
    throw last
  }

  /** Asks every node: what those say that answer, and why the first did not that does not. */
  async askEach<T>(
    question: (node: ConfiguredNode) => Promise<T>,
  ): Promise<{ found: T[]; lost: unknown }> {
    const asked = await Promise.allSettled(this.all.map(question))
    const found = asked.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    const lost = asked.find((one) => one.status === 'rejected')?.reason as unknown
    return { found, lost }
  }
}

export function tronNode(options: NodeOptions): Node {
  const nodes = new Nodes(options)
  const { all } = nodes
  return {
    names: [...new Set(all.map(nameOf))],
    only: (name) => tronNode({ ...options, nodes: all.filter((one) => nameOf(one) === name) }),
    avoid(names) {
      nodes.avoided = names
    },
    head: headReader(nodes),
    ...blockQuestions(nodes),
    ...accountQuestions(nodes),
    ...voteQuestions(nodes),
    ...transactionQuestions(nodes),
  }
}

/** What a node says. Throws Outage when it is no JSON, or that it refuses. */
function answerIn(body: string, name: string, path: string): unknown {
  const value = parseNodeJson(body, path)
  const refusal =
    typeof value === 'object' && value !== null && 'Error' in value ? value.Error : undefined
  if (refusal !== undefined)
    throw new Outage(`node ${name} answers ${path} with ${refusalText(refusal)}`)
  return value
}

/** Reads the head. One that stands still is what a node has that lost its peers: then the one that
 *  is furthest is asked first. */
function headReader(nodes: Nodes): () => Promise<BlockHead> {
  const path = '/wallet/getblock'
  const body = { detail: false }
  let standing = { number: -1, times: 0 }
  const parse = (answer: unknown, from: string) => {
    const head = headOf(answer, 'getblock')
    nodes.observer?.headSeen(from, head.number)
    return head
  }
  return async () => {
    const found = await nodes.read(path, body, parse)
    standing = {
      number: found.number,
      times: found.number === standing.number ? standing.times + 1 : 0,
    }
    if (nodes.all.length === 1 || standing.times < STANDING_MAX) return found
    standing.times = 0
    const askHead = (node: ConfiguredNode) => nodes.ask(node, { path, body }, parse)
    const heads = await Promise.all(nodes.all.map((node) => askHead(node).catch(() => found)))
    const furthest = heads.reduce(
      (best, one, i) => (one.number > heads[best]!.number && !nodes.isAvoided(i) ? i : best),
      nodes.preferred,
    )
    nodes.preferred = furthest
    return heads[furthest]!
  }
}

type Receipts = ReadonlyMap<string, Receipt>
type BlockQuestions = Pick<Node, 'solidHead' | 'blocks' | 'receipts' | 'blockWithReceipts'>

function blockQuestions(nodes: Nodes): BlockQuestions {
  function blocks(first: number, last: number, side: Side): Promise<Block[]> {
    const path =
      side === 'solid' ? '/walletsolidity/getblockbylimitnext' : '/wallet/getblockbylimitnext'
    const end = Math.min(last, first + BLOCKS_MAX - 1) + 1
    return nodes.read(path, { startNum: first, endNum: end }, (answer, from) => {
      const { block = [] } = fieldsOf(answer, path)
      return listOf(block, path).map((one) => blockOf(one, path, from))
    })
  }

  function receiptsAt<T>(
    num: number,
    side: Side,
    parse: (found: Receipts, from: string) => T,
  ): Promise<T> {
    const path = `/${side === 'solid' ? 'walletsolidity' : 'wallet'}/gettransactioninfobyblocknum`
    return nodes.read(path, { num }, (answer, from) =>
      parse(new Map(receiptsOf(answer, path).map((receipt) => [receipt.tx_id, receipt])), from),
    )
  }

  async function receipts(block: Block, side: Side): Promise<Receipt[]> {
    if (block.transactions.length === 0) return []
    return receiptsAt(block.number, side, (found, from) => inOrder(block, found, from))
  }

  return {
    solidHead: () =>
      nodes.read('/walletsolidity/getblock', { detail: false }, (answer) =>
        headOf(answer, 'getblock'),
      ),
    blocks,
    receipts,
    async blockWithReceipts(number, side) {
      const [given, { found, from }] = await Promise.all([
        blocks(number, number, side),
        receiptsAt(number, side, (found, from) => ({ found, from })),
      ])
      const block = given.find((one) => one.number === number)
      if (!block) return undefined
      // What another node has answered may be short: then they are asked for as usual.
      const complete = block.transactions.every(({ tx_id }) => found.has(tx_id))
      return {
        block,
        receipts: complete ? inOrder(block, found, from) : await receipts(block, side),
      }
    },
  }
}

type AccountQuestions = Pick<
  Node,
  | 'constantCall'
  | 'parameters'
  | 'account'
  | 'accountEverywhere'
  | 'holdings'
  | 'feeOf'
  | 'resource'
  | 'resources'
  | 'delegable'
>

const accountQuestions = (nodes: Nodes): AccountQuestions => ({
  constantCall: ({ owner, contract, selector, parameter }) =>
    nodes.read(
      '/walletsolidity/triggerconstantcontract',
      {
        owner_address: owner,
        contract_address: contract,
        function_selector: selector,
        parameter,
        visible: true,
      },
      constantCallOf,
    ),
  parameters: () =>
    nodes.read('/wallet/getchainparameters', {}, (answer) => {
      const { chainParameter } = fieldsOf(answer, 'getchainparameters')
      const pairs = listOf(chainParameter, 'getchainparameters').map((one) =>
        fieldsOf(one, 'getchainparameters'),
      )
      const set = pairs.filter(({ value }) => value !== undefined)
      return new Map(
        set.map(({ key, value }) => [text(key, 'key'), BigInt(signed(value, 'value'))]),
      )
    }),
  account: (address) =>
    nodes.read('/wallet/getaccount', { address, visible: true }, (answer) =>
      accountOf(answer, address),
    ),
  async accountEverywhere(address) {
    const question = { path: '/wallet/getaccount', body: { address, visible: true } }
    const { found, lost } = await nodes.askEach((node) =>
      nodes.ask(node, question, (answer) => accountOf(answer, address)),
    )
    if (found.length === 0) throw lost
    return found
  },
  holdings: (address) =>
    nodes.read('/walletsolidity/getaccount', { address, visible: true }, holdingsOf),
  feeOf: (tx_id) =>
    nodes.read('/walletsolidity/gettransactioninfobyid', { value: tx_id }, (answer) => {
      const { id, fee = 0 } = fieldsOf(answer, 'gettransactioninfobyid')
      return id === tx_id ? BigInt(integer(fee, 'fee')) : undefined
    }),
  resource: (address, resource) =>
    nodes.read('/wallet/getaccountresource', { address, visible: true }, (answer) =>
      resourceOf(answer, resource),
    ),
  resources: (address) =>
    nodes.read('/wallet/getaccountresource', { address, visible: true }, (answer) => ({
      energy: resourceOf(answer, 'energy'),
      bandwidth: resourceOf(answer, 'bandwidth'),
    })),
  delegable: (owner, resource) =>
    nodes.read(
      '/wallet/getcandelegatedmaxsize',
      { owner_address: owner, type: resource === 'energy' ? 1 : 0, visible: true },
      (answer) =>
        BigInt(integer(fieldsOf(answer, 'getcandelegatedmaxsize').max_size ?? 0, 'max_size')),
    ),
})

type VoteQuestions = Pick<Node, 'reward' | 'rewardOf' | 'nextMaintenance'>

const voteQuestions = (nodes: Nodes): VoteQuestions => ({
  reward: (address) =>
    nodes.read('/wallet/getReward', { address, visible: true }, (answer) =>
      BigInt(integer(fieldsOf(answer, 'getReward').reward ?? 0, 'reward')),
    ),
  rewardOf: (tx_id) =>
    nodes.read('/walletsolidity/gettransactioninfobyid', { value: tx_id }, (answer) => {
      const { id, withdraw_amount = 0 } = fieldsOf(answer, 'gettransactioninfobyid')
      return id === tx_id ? BigInt(integer(withdraw_amount, 'withdraw_amount')) : undefined
    }),
  nextMaintenance: () =>
    nodes.read('/wallet/getnextmaintenancetime', {}, (answer) => {
      const { num } = fieldsOf(answer, 'getnextmaintenancetime')
      return new Date(Number(integer(num, 'num')))
    }),
})

type TransactionQuestions = Pick<
  Node,
  'broadcast' | 'whereabouts' | 'solidTransaction' | 'isWitnessed'
>

function transactionQuestions(nodes: Nodes): TransactionQuestions {
  const { all } = nodes
  const broadcastTo = broadcaster(nodes)
  return {
    broadcast(bytes) {
      const transaction = Buffer.from(bytes).toString('hex')
      return Promise.all(all.map((node) => broadcastTo(node, transaction)))
    },
    async whereabouts(tx_id) {
      const { found, lost } = await nodes.askEach((node) => findAnywhere(nodes, node, tx_id))
      const best =
        found.find((one) => one.found === 'solid') ?? found.find((one) => one.found === 'head')
      if (best) return best
      if (found.length < all.length) throw lost
      return { found: 'nowhere' }
    },
    solidTransaction: (tx_id) => Promise.all(all.map((node) => findSolid(nodes, node, tx_id))),
    async isWitnessed(tx_id) {
      const path = '/wallet/gettransactionbyid'
      const { found } = await nodes.askEach((node) =>
        nodes.ask(node, { path, body: { value: tx_id } }, (answer, from) =>
          isSuccess(fieldsOf(answer, path), tx_id) ? [from] : [],
        ),
      )
      return new Set(found.flat()).size >= Math.min(2, new Set(all.map(nameOf)).size)
    },
  }
}

/** Sends a transaction to one node. One whose last broadcast timed out has less time, while others
 *  respond. */
function broadcaster(
  nodes: Nodes,
): (node: ConfiguredNode, transaction: string) => Promise<BroadcastAnswer> {
  const silent = new Set<ConfiguredNode>()
  return async (node, transaction) => {
    const limit_ms =
      silent.has(node) && silent.size < nodes.all.length
        ? Math.min(SILENT_MS, nodes.timeout_ms)
        : nodes.timeout_ms
    try {
      const answer = await nodes.ask(
        node,
        { path: BROADCAST, body: { transaction }, timeout_ms: limit_ms },
        (said) => fieldsOf(said, 'broadcasthex'),
      )
      silent.delete(node)
      const code = typeof answer.code === 'string' ? answer.code : 'SUCCESS'
      const said =
        typeof answer.message === 'string' && answer.message !== ''
          ? `${code}: ${answer.message}`
          : code
      // No column of text takes a NUL.
      const kept = said.replaceAll('\0', '\uFFFD').slice(0, 500)
      return { accepted: answer.result === true, said: kept }
    } catch (thrown) {
      if (!(thrown instanceof Outage)) throw thrown
      silent.add(node)
      return { accepted: false, said: `no answer: ${thrown.message}`.slice(0, 500) }
    }
  }
}

async function findSolid(nodes: Nodes, node: ConfiguredNode, tx_id: string): Promise<SolidFinding> {
  // The height first: the transaction is looked for in a chain that reaches at least that far.
  const reached = await nodes.ask(
    node,
    { path: '/walletsolidity/getblock', body: { detail: false } },
    (answer) => headOf(answer, 'getblock'),
  )
  const found = await nodes.ask(
    node,
    { path: '/walletsolidity/gettransactionbyid', body: { value: tx_id } },
    (answer) => fieldsOf(answer, 'gettransactionbyid'),
  )
  return { found: 'raw_data' in found || 'txID' in found, solid_number: reached.number }
}

async function findAnywhere(
  nodes: Nodes,
  node: ConfiguredNode,
  tx_id: string,
): Promise<Whereabouts> {
  const body = { value: tx_id }
  const solid_number = await nodes.ask(
    node,
    { path: '/walletsolidity/gettransactioninfobyid', body },
    (answer) => {
      const solid = fieldsOf(answer, 'transaction')
      return 'id' in solid ? Number(integer(solid.blockNumber, 'blockNumber')) : undefined
    },
  )
  if (solid_number !== undefined) return { found: 'solid', block_number: solid_number }
  const is_head = await nodes.ask(
    node,
    { path: '/wallet/gettransactionbyid', body },
    (answer) => 'txID' in fieldsOf(answer, 'gettransactionbyid'),
  )
  return { found: is_head ? 'head' : 'nowhere' }
}

/** A node as it may be named anywhere: some have a key in the path of their address. */
export const hostOf = (url: string): string =>
  URL.canParse(url) ? new URL(url).host : 'without an address'

/** Keys are longer than the words of a path. */
const KEY_LENGTH_MIN = 8

/** What in the configuration of a node is a key, or may be one. */
function keysOf({ url, solid_url = url, headers = {} }: ConfiguredNode): string[] {
  const parts = [url, solid_url].flatMap((side) => new URL(side).pathname.split('/'))
  return [...parts, ...Object.values(headers)].filter(({ length }) => length >= KEY_LENGTH_MIN)
}

/** An Outage as it may be logged and shown: some nodes repeat the key that they were asked with.
 *  Anything else is as it was. */
export function withoutKeys(thrown: unknown, node: ConfiguredNode): unknown {
  if (!(thrown instanceof Outage)) return thrown
  const keys = keysOf(node)
  const { message, cause } = thrown
  const said = cause instanceof Error ? { cause: new Error(errorText(cause.message, keys)) } : {}
  const Kind = thrown instanceof NodeBusy ? NodeBusy : Outage
  return new Kind(errorText(message, keys), said)
}

function inOrder(block: Block, found: ReadonlyMap<string, Receipt>, from: string): Receipt[] {
  const receipts = block.transactions.map(({ tx_id }) => {
    const receipt = found.get(tx_id)
    if (!receipt) throw new Outage(`the node has no receipt for transaction ${tx_id} yet`)
    return receipt
  })
  block.read_from.add(from)
  return receipts
}

function constantCallOf(answer: unknown): ConstantCall {
  const where = 'triggerconstantcontract'
  const called = fieldsOf(answer, where)
  const outcome = fieldsOf(called.result, where)
  const message = typeof outcome.message === 'string' ? outcome.message : ''
  const { transaction } = called
  const [ret] =
    transaction === undefined ? [] : listOf(fieldsOf(transaction, where).ret ?? [], where)
  const failed = fieldsOf(ret ?? {}, where).ret === 'FAILED'
  const [result] = listOf(called.constant_result ?? [], where)
  return {
    succeeded: outcome.result === true && message === '' && !failed,
    energy: BigInt(integer(called.energy_used ?? 0, where)),
    result: hexOfAnyCase(result ?? '', where),
    said: plain(message).slice(0, 200),
  }
}
