// Requests that make no sense, and transactions that almost do: `npm run fuzz -w penstock-devchain
// -- --requests 100000`. Everything follows from a seed. After every request that was refused the
// chain is as it was, record by record; after every block every sun is where it was or burned, and
// tokens add up to their supply; no request throws.

import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { bytesToHex } from '@noble/hashes/utils.js'
import { addressToHex } from 'penstock-tron/address.ts'
import { contractSchemas } from 'penstock-tron/contracts.ts'
import { sign } from 'penstock-tron/keys.ts'
import type { Message } from 'penstock-tron/protobuf.ts'
import {
  contract,
  encodeRawData,
  encodeTransaction,
  transactionId,
} from 'penstock-tron/transaction.ts'
import { selectorOf, wordOfAddress, wordOfInteger } from '../calls/abi.ts'
import { referenceTo } from '../chain/blocks.ts'
import { signedTransaction } from '../chain/transactions.ts'
import { USDT } from '../devchain.ts'
import { RandomSeries } from '../http/faults.ts'
import { printTransaction } from '../http/messages.ts'
import { audit, type Person, person, Scene, TRX } from '../scene.ts'
import { integerOf } from '../state/execution_context.ts'
import { parseJson, printJson } from '../state/json.ts'
import { Layer } from '../state/state.ts'
import type { Answer, Exchange } from '../wallet_api/wallet_api.ts'
import { Mutator } from './mutation.ts'

export type FuzzOptions = {
  readonly seed: string
  readonly requests: number
  readonly requests_per_block: number
}

/** The result of a run. Durations are of this process's clock, for people to read. */
export type FuzzReport = {
  readonly requests: number
  readonly accepted: number
  readonly refused: number
  readonly blocks: number
  readonly included: number
  readonly slowest: { readonly ms: number; readonly request: string }
}

/** A failure of a run: the request that shows it can be repeated from the seed. */
class FuzzFailure extends Error {
  override name = 'FuzzFailure'
}

const people = ['ann', 'ben', 'cid', 'dot'].map(person)
const [ann, ben, cid, dot] = people as [Person, Person, Person, Person]
const usdt = addressToHex(USDT)
/** A contract that pays, splits and stakes. */
const purse = person('purse')
/** The id of the first TRC10 token, as its digits' bytes. */
const FIRST_ASSET = '31303030303031'

/** A small society: stakes, a locked and an open delegation, something unfreezing, tokens,
 *  permissions of two. */
function society(seed: string): Scene {
  const on = new Scene(
    Object.fromEntries(['ann', 'ben', 'cid', 'dot'].map((name) => [name, 1_000_000n * TRX])),
    {
      seed,
    },
  )
  const lend = (receiver_address: string, lock: boolean) => ({
    receiver_address,
    balance: 1000n * TRX,
    resource: 'ENERGY',
    lock,
  })
  on.do(ann, 'FreezeBalanceV2Contract', { frozen_balance: 100_000n * TRX, resource: 'ENERGY' })
  on.do(ann, 'FreezeBalanceV2Contract', { frozen_balance: 10_000n * TRX, resource: 'BANDWIDTH' })
  on.do(ann, 'DelegateResourceContract', lend(ben.hex, false))
  on.do(ann, 'DelegateResourceContract', lend(cid.hex, true))
  on.do(ann, 'UnfreezeBalanceV2Contract', { unfreeze_balance: 500n * TRX, resource: 'ENERGY' })
  for (const { address } of people) on.post('/devchain/mint', { address, amount: 1_000_000_000 })
  const contract = {
    address: purse.address,
    owner: ann.address,
    receivers: [ben.address, cid.address],
  }
  on.post('/devchain/contract', contract)
  on.post('/devchain/fund', { address: purse.address, sun: 1_000_000n * TRX })
  for (const { hex } of people) on.devchain.chain.impersonate(hex, true)
  on.mine()
  return on
}

const wordOf = (value: string | bigint) =>
  typeof value === 'bigint' ? wordOfInteger(value) : wordOfAddress(value)

/** Calls of the contract, in whatever order they come. */
function contractCalls(): [string, Message][] {
  const call = (
    signature: string,
    values: (string | bigint)[],
    call_value = 0n,
  ): [string, Message] => {
    const data = signature === '' ? '' : selectorOf(signature) + values.map(wordOf).join('')
    return ['TriggerSmartContract', { contract_address: purse.hex, data, call_value }]
  }
  const newcomer = person('newcomer').hex
  return [
    call('', [], 7n * TRX),
    call('forward(address)', [newcomer], 3n),
    call('pay(address,uint256)', [purse.hex, TRX]),
    call('send(address,uint256)', [usdt, TRX]),
    call('payMany(address[],uint256[])', [64n, 160n, 2n, ben.hex, newcomer, 2n, 5n, TRX]),
    call('payMany(address[],uint256[])', [64n, 2n ** 255n, 2n]),
    call('create(uint256)', [TRX]),
    call('destroy(address)', [ben.hex]),
    call('freeze(uint256,uint256)', [10n * TRX, 1n]),
    call('unfreeze(uint256,uint256)', [TRX, 1n]),
    call('delegate(address,uint256,uint256)', [cid.hex, 2n * TRX, 1n]),
    call('undelegate(address,uint256,uint256)', [cid.hex, TRX, 1n]),
    call('withdraw()', []),
    call('cancel()', []),
  ]
}

/** Messages that mean something, one of each contract type that the chain executes. */
function sensibleMessages(on: Scene): [string, Message][] {
  const witness = on.devchain.chain.witnesses[0]!.address
  const transfer =
    selectorOf('transfer(address,uint256)') + wordOfAddress(ben.hex) + wordOfInteger(7n)
  const keys = [{ address: dot.hex, weight: 1n }]
  return [
    ['TransferContract', { to_address: ben.hex, amount: 5n }],
    ['AccountCreateContract', { account_address: person('newcomer').hex }],
    ['FreezeBalanceV2Contract', { frozen_balance: 10n * TRX, resource: 'BANDWIDTH' }],
    ['UnfreezeBalanceV2Contract', { unfreeze_balance: TRX, resource: 'ENERGY' }],
    ['WithdrawExpireUnfreezeContract', {}],
    ['CancelAllUnfreezeV2Contract', {}],
    [
      'DelegateResourceContract',
      { receiver_address: cid.hex, balance: TRX, resource: 'ENERGY', lock: true, lock_period: 9n },
    ],
    ['UnDelegateResourceContract', { receiver_address: ben.hex, balance: TRX, resource: 'ENERGY' }],
    ['TriggerSmartContract', { contract_address: usdt, data: transfer, call_value: 0n }],
    ...contractCalls(),
    [
      'AssetIssueContract',
      {
        name: '41',
        url: '42',
        total_supply: 1000n,
        trx_num: 1,
        num: 2,
        start_time: BigInt(on.devchain.head.header.timestamp) + 3000n,
        end_time: BigInt(on.devchain.head.header.timestamp) + 10_000_000n,
        frozen_supply: [{ frozen_amount: 5n, frozen_days: 1n }],
      },
    ],
    ['TransferAssetContract', { asset_name: FIRST_ASSET, to_address: ben.hex, amount: 3n }],
    ['ParticipateAssetIssueContract', { asset_name: FIRST_ASSET, to_address: ann.hex, amount: 3n }],
    ['UpdateAssetContract', { url: '43', new_limit: 1n, new_public_limit: 2n }],
    ['UnfreezeAssetContract', {}],
    ['AccountUpdateContract', { account_name: 'cafe' }],
    ['SetAccountIdContract', { account_id: '6162636465666768' }],
    ['WitnessCreateContract', { url: 'cafe' }],
    ['VoteWitnessContract', { votes: [{ vote_address: witness, vote_count: 3n }] }],
    [
      'AccountPermissionUpdateContract',
      {
        owner: { type: 'Owner', permission_name: 'o', threshold: 1n, keys },
        actives: [
          {
            type: 'Active',
            permission_name: 'a',
            threshold: 1n,
            operations: `02${'00'.repeat(31)}`,
            keys,
          },
        ],
      },
    ],
  ]
}

const endpoints = [
  'getaccount getaccountresource getaccountnet getaccountbyid validateaddress getnowblock ' +
    'getblock getblockbynum',
  'getblockbyid getblockbylimitnext getblockbylatestnum gettransactioncountbyblocknum ' +
    'gettransactionbyid',
  'gettransactioninfobyid gettransactioninfobyblocknum gettransactionfrompending ' +
    'getdelegatedresourcev2',
  'getdelegatedresourceaccountindexv2 getcandelegatedmaxsize getavailableunfreezecount ' +
    'getcanwithdrawunfreezeamount',
  'triggerconstantcontract triggersmartcontract estimateenergy getcontract ' +
    'getcontractinfo getpaginatednowwitnesslist',
  'getBrokerage getReward getsignweight getapprovedlist broadcasttransaction broadcasthex ' +
    'createtransaction',
  'createaccount freezebalancev2 unfreezebalancev2 delegateresource undelegateresource ' +
    'accountpermissionupdate',
  'votewitnessaccount updateaccount deploycontract transferasset createassetissue ' +
    'getassetissuebyname nosuch',
  'getaccountbalance getblockbalance gettransactionreceiptbyid',
].flatMap((line) => line.split(' '))
const controls = [
  'fund',
  'mint',
  'blacklist',
  'set_weight',
  'set_drift',
  'set_factor',
  'token',
  'impersonate',
  'state',
  'contract',
  'set_internal',
]

/** Members that one endpoint or another asks for, with values that make sense somewhere. */
function sensibleMembers(on: Scene): Message {
  const head = on.devchain.head
  return {
    address: ann.hex,
    owner_address: ann.hex,
    to_address: ben.hex,
    receiver_address: cid.hex,
    account_address: person('somebody').hex,
    contract_address: usdt,
    fromAddress: ann.hex,
    toAddress: ben.hex,
    value: head.id,
    hash: head.id,
    number: head.header.number,
    account_identifier: { address: ann.hex },
    block_identifier: { hash: head.id, number: head.header.number },
    account_id: '6162636465666768',
    num: head.header.number,
    startNum: 1,
    endNum: 20,
    id_or_num: '5',
    amount: 3,
    sun: 3,
    balance: 2_000_000,
    frozen_balance: 2_000_000,
    unfreeze_balance: 2_000_000,
    resource: 'ENERGY',
    type: 1,
    lock: false,
    visible: false,
    function_selector: 'balanceOf(address)',
    parameter: wordOfAddress(ann.hex),
    offset: 0,
    limit: 3,
    factor: 100,
    Permission_id: 0,
    fee_limit: 1_000_000_000,
  }
}

class Fuzz {
  private readonly on: Scene
  private readonly options: FuzzOptions
  private readonly random: RandomSeries
  private readonly mutate: Mutator
  private sent = 0
  private accepted = 0
  private refused = 0
  private blocks = 0
  private included = 0
  private slowest = { ms: 0, request: '' }

  constructor(options: FuzzOptions) {
    this.options = options
    this.on = society(options.seed)
    this.random = new RandomSeries(`${options.seed} fuzz`)
    this.mutate = new Mutator(this.random)
  }

  run(): FuzzReport {
    const { requests, requests_per_block } = this.options
    for (let made = 1; made <= requests; made++) {
      this.exchange(this.request())
      if (made % requests_per_block === 0) this.block()
    }
    this.block()
    const { accepted, refused, blocks, included, slowest } = this
    return { requests, accepted, refused, blocks, included, slowest }
  }

  /** A request of one of the kinds. */
  private request(): Exchange {
    const kind = this.random.next()
    if (kind < 0.45) return this.broadcast()
    if (kind < 0.9) return this.query()
    return this.control()
  }

  private broadcast(): Exchange {
    const how = this.random.next()
    if (how < 0.5)
      return post('/wallet/broadcasthex', {
        transaction: bytesToHex(encode(this.transaction(this.random.next() < 0.6))),
      })
    if (how < 0.7) return post('/wallet/broadcasthex', { transaction: this.brokenHex() })
    const { raw, signatures } = this.transaction(how < 0.85)
    const printed = JSON.parse(
      printJson(printTransaction(signedTransaction(raw, signatures), false)),
    )
    const body = JSON.stringify(this.random.next() < 0.7 ? this.mutate.object(printed) : printed)
    const path = this.pick([
      'broadcasttransaction',
      'broadcasttransaction',
      'getsignweight',
      'getapprovedlist',
    ])
    return {
      method: 'POST',
      path: `/wallet/${path}`,
      body: this.random.next() < 0.1 ? this.mutate.text(body) : body,
    }
  }

  /** The bytes of a transaction with some changed, in the whole or within its raw data. */
  private brokenHex(): string {
    const { raw, signatures } = this.transaction(false)
    const bytes =
      this.random.next() < 0.5
        ? encode({ raw: this.mutate.bytes(raw), signatures })
        : encode({ raw, signatures })
    return bytesToHex(this.random.next() < 0.5 ? bytes : this.mutate.bytes(bytes))
  }

  /** A transaction that makes sense, or one whose message was changed. */
  private transaction(changed: boolean): Transaction {
    const [type, message] = this.pick(sensibleMessages(this.on))
    const head = this.on.devchain.head
    const owner = this.pick(people)
    const given: Message = { owner_address: owner.hex, ...message }
    const raw = encodeRawData({
      ...referenceTo(head),
      expiration: head.header.timestamp + 60_000,
      timestamp: head.header.timestamp + this.sent++,
      contract: [
        contract(
          type,
          changed ? this.mutate.message(contractSchemas[type]!, given) : given,
          this.pick([0, 0, 0, 2, 9]),
        ),
      ],
      fee_limit: this.pick([0n, 1_000_000n, 100n * TRX, -1n, 2n ** 62n]),
    })
    // Signing takes longer than all the rest; impersonated accounts need no true signature.
    const honest = this.random.next() < 0.01
    return { raw, signatures: [honest ? sign(transactionId(raw), owner.key) : '00'.repeat(65)] }
  }

  private query(): Exchange {
    const name = this.pick(endpoints)
    const path = `/${this.pick(['wallet', 'wallet', 'walletsolidity'])}/${name}`
    const members = this.mutate.object(sensibleMembers(this.on))
    if (this.random.next() < 0.2) {
      const pairs = Object.entries(members).map(([key, value]): [string, string] => [
        key,
        textOf(value),
      ])
      return {
        method: 'GET',
        path: `${path}?${this.mutate.text(new URLSearchParams(pairs).toString())}`,
        body: '',
      }
    }
    const body = JSON.stringify(members)
    return {
      method: this.pick(['POST', 'POST', 'POST', 'PUT']),
      path,
      body: this.random.next() < 0.3 ? this.mutate.text(body) : body,
    }
  }

  private control(): Exchange {
    const members = this.mutate.object({
      ...sensibleMembers(this.on),
      address: ann.address,
      owner: ben.address,
    })
    return post(`/devchain/${this.pick(controls)}`, members)
  }

  private pick<Item>(list: readonly Item[]): Item {
    return list[Math.floor(this.random.next() * list.length)]!
  }

  /** Sends a request, and looks at what it did. */
  private exchange(request: Exchange): void {
    const before = this.records()
    const started_ms = performance.now()
    const answer = this.answer(request)
    const ms = performance.now() - started_ms
    if (ms > this.slowest.ms)
      this.slowest = { ms, request: `${request.path} ${request.body.slice(0, 200)}` }
    if (changes(request, answer)) {
      this.accepted++
      return
    }
    this.refused++
    if (!same(before, this.records()))
      this.fail(request, `was refused and changed the chain: ${answer.body.slice(0, 200)}`)
  }

  private answer(request: Exchange): Answer {
    try {
      const answer = this.on.devchain.request(request.method, request.path, request.body)
      if (answer.content_type === undefined) readable(answer)
      return answer
    } catch (error) {
      return this.fail(request, `throws ${error instanceof Error ? error.stack : String(error)}`)
    }
  }

  private fail(request: Exchange, what: string): never {
    throw new FuzzFailure(
      `${request.method} ${request.path} ${request.body.slice(0, 2000)}\n${what}`,
    )
  }

  /** Every record that is not in a block yet, by reference: records are never modified. */
  private records(): Map<string, unknown> {
    const view = this.on.devchain.chain.headView()
    if (!(view instanceof Layer)) throw new Error('the head is read through a layer')
    const { head, chain } = this.on.devchain
    const records = new Map<string, unknown>([
      ['head', head],
      ['pending', chain.pendingSize()],
    ])
    for (const [table, changed] of Object.entries(view.changes)) {
      for (const [key, record] of changed) records.set(`${table} ${key}`, record)
    }
    return records
  }

  private block(): void {
    const { transactions } = this.on.mine()
    this.blocks++
    this.included += transactions.length
    const { held_sun, burned_sun, issued_sun } = audit(this.on.devchain)
    if (held_sun + burned_sun !== issued_sun)
      throw new FuzzFailure(`${held_sun} held and ${burned_sun} burned of ${issued_sun}`)
    this.checkTokens()
    this.checkAssets()
    // Permissions may have gone to keys that nobody has, and purses may be empty.
    if (this.blocks % 20 === 0)
      for (const { address } of people) this.on.devchain.fund(address, 20_000n * TRX)
  }

  private checkTokens(): void {
    const { head_state } = this.on.devchain.chain
    const held = new Map<string, bigint>()
    for (const [key, amount] of head_state.entries('slot')) {
      const [token, kind] = key.split(':') as [string, string]
      if (kind === 'balance') held.set(token, (held.get(token) ?? 0n) + amount!)
    }
    for (const [address, token] of head_state.entries('token')) {
      const sum = held.get(address) ?? 0n
      if (sum !== token!.total_supply)
        throw new FuzzFailure(`holders of ${address} have ${sum} of ${token!.total_supply}`)
    }
  }

  private checkAssets(): void {
    const { head_state } = this.on.devchain.chain
    const left = new Map(
      Array.from(head_state.entries('asset'), ([id, asset]) => [
        id,
        integerOf(asset!, 'total_supply'),
      ]),
    )
    const take = (id: string, amount: bigint) => left.set(id, left.get(id)! - amount)
    for (const [, account] of head_state.entries('account')) {
      const { assets = {}, asset_issued, frozen_supply = [] } = account!
      for (const [id, amount] of Object.entries(assets)) take(id, amount)
      for (const { amount } of frozen_supply) take(asset_issued!, amount)
    }
    for (const [id, rest] of left)
      if (rest !== 0n) throw new FuzzFailure(`${rest} of token ${id} are nobody's`)
  }
}

const textOf = (value: unknown) =>
  typeof value === 'object' ? JSON.stringify(value) : String(value)

type Transaction = { raw: Uint8Array; signatures: string[] }

const encode = ({ raw, signatures }: Transaction) => encodeTransaction(raw, signatures)

const post = (path: string, body: object): Exchange => ({
  method: 'POST',
  path,
  body: JSON.stringify(body),
})

/** Whether an answer says that the request did something. */
function changes({ path }: Exchange, { status, body }: Answer): boolean {
  if (path.startsWith('/devchain/')) return status === 200
  return path.startsWith('/wallet/broadcast') && /"result":true/.test(body)
}

/** Throws when an answer is not JSON. Empty answers are what a GET of something to post gets. */
function readable({ status, body }: Answer): void {
  if (status !== 200 || body !== '') parseJson(body)
}

function same(before: ReadonlyMap<string, unknown>, after: ReadonlyMap<string, unknown>): boolean {
  if (before.size !== after.size) return false
  for (const [key, record] of before) if (after.get(key) !== record) return false
  return true
}

/** Runs a series of requests. Throws a FuzzFailure with the first one that does what none may. */
export const runFuzz = (options: FuzzOptions): FuzzReport => new Fuzz(options).run()

function main(): void {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: 'penstock' },
      requests: { type: 'string', default: '100000' },
    },
  })
  const requests = Number(values.requests)
  const report = runFuzz({ seed: values.seed, requests, requests_per_block: 50 })
  process.stdout.write(`${JSON.stringify({ seed: values.seed, ...report })}\n`)
}

const started = process.argv[1]
if (started !== undefined && realpathSync(started) === fileURLToPath(import.meta.url)) main()
