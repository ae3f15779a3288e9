// The formulas of screening a second time, as they are written: from a node's JSON to shares and
// scores, with maps and whole numbers of any size, slow and plain. It shares no code with the
// service.

import { createHash } from 'node:crypto'
import { base58 } from '@scure/base'

type Row = { name: string; weight: bigint }
const row = (name: string, weight: number): Row => ({ name, weight: BigInt(weight) })

/** In the order that settles ties. */
const TABLE: readonly Row[] = [
  row('sanctions', 100),
  row('terrorism_financing', 100),
  row('child_exploitation', 100),
  row('ransom', 100),
  row('stolen_coins', 100),
  row('dark_market', 100),
  row('dark_service', 100),
  row('mixer', 100),
  row('scam', 100),
  row('illegal_service', 100),
  row('exchange_fraudulent', 100),
  row('issuer_frozen', 100),
  row('enforcement_action', 75),
  row('gambling', 75),
  row('exchange_unlicensed', 60),
  row('p2p_exchange_unlicensed', 60),
  row('atm', 50),
  row('liquidity_pools', 50),
  row('bridge', 50),
  row('unidentified_service', 40),
  row('unidentified', 25),
  row('wallet', 25),
  row('exchange_licensed', 10),
  row('p2p_exchange_licensed', 10),
  row('payment', 0),
  row('miner', 0),
  row('marketplace', 0),
  row('seized_assets', 0),
]
const at = (name: string) => TABLE.findIndex((one) => one.name === name)
const SEVERE = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11]
export const CATEGORY_NAMES = TABLE.map(({ name }) => name)

export type ReferenceLabel = {
  address: string
  category: string
  confidence: number
  /** Milliseconds; absent: since ever, still. */
  from?: number | undefined
  to?: number | undefined
  frozen?: boolean
}

type Vector = bigint[]
const zero = (): Vector => TABLE.map(() => 0n)
const total = (vector: Vector) => vector.reduce((a, b) => a + b, 0n)

type Account = { held: Vector; received: Vector; direct: Vector; sent_to: Vector; sent: bigint }
type ReferenceMove = {
  tx: string
  asset: string
  from: string
  to: string
  amount: bigint
  carried: Vector
  terminal: boolean
}

/** Parts of `amount` by weight: floors, then one each by largest remainder, the earlier first. */
function divide(weights: Vector, amount: bigint): Vector {
  const sum = total(weights)
  const parts = weights.map((weight) => (weight * amount) / sum)
  const byRest = weights.map((weight, k) => [k, (weight * amount) % sum] as const)
  byRest.sort(([i, a], [j, b]) => (a > b ? -1 : a < b ? 1 : i - j))
  for (let i = 0; total(parts) < amount; i++) parts[byRest[i]![0]]! += 1n
  return parts
}

export class Ledger {
  readonly accounts = new Map<string, Account>()
  readonly moved: ReferenceMove[] = []
  readonly labels: ReferenceLabel[]
  private readonly supply: bigint
  private readonly token: string
  now = 0

  constructor(labels: readonly ReferenceLabel[], token: string, supply: bigint) {
    this.labels = [...labels]
    this.token = token
    this.supply = supply
  }

  account(asset: string, address: string): Account {
    const key = `${asset} ${address}`
    const known = this.accounts.get(key)
    if (known) return known
    const made = { held: zero(), received: zero(), direct: zero(), sent_to: zero(), sent: 0n }
    this.accounts.set(key, made)
    return made
  }

  /** The label that counts: the issuer's list before what people say, then the surer, the worse,
   *  the earlier in the table. */
  labelOf(address: string): ReferenceLabel | undefined {
    return this.labels
      .filter(
        (one) =>
          one.address === address &&
          (one.from ?? -1) <= this.now &&
          this.now < (one.to ?? Infinity),
      )
      .sort(
        (a, b) =>
          Number(b.frozen ?? false) - Number(a.frozen ?? false) ||
          b.confidence - a.confidence ||
          Number(TABLE[at(b.category)]!.weight - TABLE[at(a.category)]!.weight) ||
          at(a.category) - at(b.category),
      )[0]
  }

  block(time: number, events: readonly Event[]): void {
    this.now = time
    for (const event of events)
      if (event.kind === 'freeze') this.freeze(event.address, event.frozen)
    for (const [key, account] of this.accounts) {
      const label = this.labelOf(key.split(' ')[1]!)
      if (label && label.confidence >= 50) account.held = zero()
    }
    for (const event of events) if (event.kind === 'move') this.move(event)
  }

  private freeze(address: string, frozen: boolean): void {
    const open = this.labels.find(
      (one) => one.frozen && one.address === address && one.to === undefined,
    )
    if (frozen && !open)
      this.labels.push({
        address,
        category: 'issuer_frozen',
        confidence: 100,
        from: this.now,
        frozen: true,
      })
    if (!frozen && open) open.to = this.now
  }

  private move({ tx, asset, from, to, amount }: Movement): void {
    if (amount === 0n || from === to || (asset === this.token && amount > this.supply)) return
    const sender = this.account(asset, from)
    const receiver = this.account(asset, to)
    const label = this.labelOf(from)
    const target = this.labelOf(to)
    const terminal = label !== undefined && label.confidence >= 50
    let carried = zero()
    if (terminal) {
      carried[at(label.category)] = amount
      receiver.direct[at(label.category)]! += amount
    } else {
      const missing = amount - total(sender.held)
      if (missing > 0n) {
        sender.held[at('unidentified')]! += missing
        sender.received[at('unidentified')]! += missing
      }
      const taken = divide(sender.held, amount)
      sender.held = sender.held.map((held, k) => held - taken[k]!)
      const turned = label ? (amount * BigInt(label.confidence)) / 100n : 0n
      carried = divide(taken, amount - turned)
      if (label) carried[at(label.category)]! += turned
    }
    sender.sent += amount
    const kept = !(target && target.confidence >= 50)
    if (!kept) sender.sent_to[at(target.category)]! += amount
    for (const [k, part] of carried.entries()) {
      receiver.received[k]! += part
      if (kept) receiver.held[k]! += part
    }
    this.moved.push({ tx, asset, from, to, amount, carried, terminal })
  }
}

type Movement = {
  kind: 'move'
  tx: string
  asset: string
  from: string
  to: string
  amount: bigint
}
type Event = Movement | { kind: 'freeze'; address: string; frozen: boolean }

// A unit of TRX is 0.30 micro-dollars, one of the token 1.00: amounts here are in hundredths of a
// micro-dollar.

const worth = (asset: string, units: bigint) => units * (asset === 'TRX' ? 30n : 100n)
const USD = 100_000_000n

export type Verdict = {
  factors: [name: string, score: string][]
  score: string
  level: string
  blacklist: boolean
}

type Exposure = { amounts: Vector; direct: Vector }

function received(ledger: Ledger, address: string): Exposure {
  const exposure = { amounts: zero(), direct: zero() }
  for (const [key, account] of ledger.accounts) {
    const [asset, whose] = key.split(' ') as [string, string]
    if (whose !== address) continue
    for (const k of TABLE.keys()) {
      exposure.amounts[k]! += worth(asset, account.received[k]!)
      exposure.direct[k]! += worth(asset, account.direct[k]!)
    }
  }
  return exposure
}

/** What a check of an address says. */
export function judgeAddress(ledger: Ledger, address: string, withdrawal = false): Verdict {
  const label = ledger.labelOf(address)
  if (label && label.confidence >= 50) {
    const amounts = zero()
    amounts[at(label.category)] = 1n
    return conclude(ledger, address, { amounts, direct: zero() }, [])
  }
  const exposure = received(ledger, address)
  const floors = exposureFloors(exposure)
  if (withdrawal) {
    const accounts = [...ledger.accounts].filter(([key]) => key.endsWith(` ${address}`))
    const sent = accounts.reduce(
      (sum, [key, { sent }]) => sum + worth(key.split(' ')[0]!, sent),
      0n,
    )
    for (const k of SEVERE) {
      const to = accounts.reduce(
        (sum, [key, { sent_to }]) => sum + worth(key.split(' ')[0]!, sent_to[k]!),
        0n,
      )
      if (to > 0n && to * 200n >= sent && to >= 100n * USD) floors.push(75n)
    }
  }
  return conclude(ledger, address, exposure, floors)
}

/** What is answered when a transaction does not name the address. */
const NOTHING = { factors: [], blacklist: false, score: null, level: null }

/** What a check of a transaction says; undefined when it moved nothing. */
export function judgeTransaction(
  ledger: Ledger,
  tx: string,
  address: string,
  direction: string,
): Verdict | typeof NOTHING | undefined {
  const all = ledger.moved.filter((one) => one.tx === tx)
  if (all.length === 0) return undefined
  const largest = (some: readonly ReferenceMove[]) =>
    some.reduce((best, one) =>
      worth(one.asset, one.amount) > worth(best.asset, best.amount) ? one : best,
    )
  const to = all.filter((one) => one.to === address)
  const from = all.filter((one) => one.from === address)
  const matching = to.length > 0 ? to : from
  // The transaction does not name the address: there is nothing to judge.
  if (matching.length === 0) return { factors: [], blacklist: false, score: null, level: null }
  const main = largest(matching)
  if (direction === 'withdrawal') return judgeAddress(ledger, main.to, true)
  const exposure = { amounts: zero(), direct: zero() }
  for (const one of matching) {
    for (const k of TABLE.keys()) {
      exposure.amounts[k]! += worth(one.asset, one.carried[k]!)
      if (one.terminal) exposure.direct[k]! += worth(one.asset, one.carried[k]!)
    }
  }
  return conclude(ledger, main.from, exposure, exposureFloors(exposure))
}

function exposureFloors({ amounts, direct }: Exposure): bigint[] {
  const sum = total(amounts)
  const floors: bigint[] = []
  const reaches = (amount: bigint, hundredths: bigint, usd: bigint) =>
    amount > 0n && amount * 10_000n >= hundredths * sum && amount >= usd * USD
  for (const k of SEVERE) {
    const indirect = amounts[k]! - direct[k]!
    if (reaches(direct[k]!, 50n, 100n)) floors.push(75n)
    if (reaches(indirect, 500n, 1_000n)) floors.push(70n)
    if (reaches(indirect, 100n, 100n)) floors.push(31n)
    if (direct[k]! >= 10_000n * USD) floors.push(31n)
  }
  const together = SEVERE.reduce((all, k) => all + amounts[k]!, 0n)
  if (reaches(together, 500n, 1_000n)) floors.push(70n)
  return floors
}

function conclude(
  ledger: Ledger,
  address: string,
  exposure: Exposure,
  floors: readonly bigint[],
): Verdict {
  const amounts =
    total(exposure.amounts) > 0n
      ? exposure.amounts
      : TABLE.map(({ name }) => (name === 'unidentified' ? 1n : 0n))
  const sum = total(amounts)
  const label = ledger.labelOf(address)
  // All scores over one denominator: 60 * sum.
  let points = amounts.reduce((all, amount, k) => all + amount * TABLE[k]!.weight, 0n) * 60n
  for (const floor of floors) if (floor * 60n * sum > points) points = floor * 60n * sum
  if (label) {
    const { weight } = TABLE[at(label.category)]!
    const own = weight * BigInt(Math.min(60, label.confidence)) * sum
    if (weight >= 75n && own > points) points = own
  }
  const blacklist = ledger.labels.some(
    (one) =>
      one.frozen &&
      one.address === address &&
      one.from! <= ledger.now &&
      ledger.now < (one.to ?? Infinity),
  )
  if (blacklist) points = 100n * 60n * sum
  const [over, under] = [points * 10n, 60n * sum]
  let tenths = over / under
  const rest = (over % under) * 2n
  if (rest > under || (rest === under && tenths % 2n === 1n)) tenths += 1n
  const published = largestRemainder(amounts, sum)
  const factors = published
    .map((share, k) => [TABLE[k]!.name, share] as const)
    .filter(([, share]) => share > 0n)
    .sort(([a, x], [b, y]) => (x > y ? -1 : x < y ? 1 : a < b ? -1 : 1))
    .map(([name, share]): [string, string] => [name, (Number(share) / 10_000).toFixed(4)])
  return {
    factors,
    blacklist,
    score: `${tenths / 10n}.${tenths % 10n}`,
    level: blacklist || tenths >= 700n ? 'high' : tenths >= 300n ? 'medium' : 'low',
  }
}

function largestRemainder(amounts: Vector, sum: bigint): Vector {
  const parts = amounts.map((amount) => (amount * 10_000n) / sum)
  const order = [...amounts.keys()].sort((i, j) => {
    const [a, b] = [(amounts[i]! * 10_000n) % sum, (amounts[j]! * 10_000n) % sum]
    return a > b ? -1 : a < b ? 1 : i - j
  })
  for (let i = 0; total(parts) < 10_000n; i++) parts[order[i]!]! += 1n
  return parts
}

// Reading a node.

const hashed = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest()

/** An address as people write it, from its hexadecimal form with or without prefix. */
function textOf(hex: string): string {
  const bytes = Buffer.from(hex.length === 40 ? `41${hex}` : hex, 'hex')
  return base58.encode(Buffer.concat([bytes, hashed(hashed(bytes)).subarray(0, 4)]))
}

type Block = {
  transactions?: {
    txID: string
    ret?: { contractRet?: string }[]
    raw_data: {
      contract: { type: string; parameter: { value: Record<string, string | number> } }[]
    }
  }[]
  block_header: { raw_data: { timestamp: number } }
}
type Receipt = {
  id: string
  log?: { address: string; topics: string[]; data?: string }[]
  internal_transactions?: {
    rejected?: boolean
    caller_address: string
    transferTo_address: string
    callValueInfo?: { callValue?: number; tokenId?: string }[]
  }[]
}

const TRANSFER = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const FREEZES: Record<string, boolean> = {
  '42e160154868087d6bfdc0ca23d96a1c1cfa32f1b72ba9ba27b69b98a0d819dc': true,
  d7e9ec6e6ecd65492dce6bf513cd6867560d49544421d0783ddf06e76c24470c: false,
}

/** What moved and froze in a block, in order. `block` and `receipts`: what a node answers. */
export function eventsOf(
  block: unknown,
  receipts: unknown,
  token: string,
): { time: number; events: Event[] } {
  const { transactions = [], block_header } = block as Block
  const by_id = new Map((receipts as Receipt[]).map((one) => [one.id, one]))
  const events: Event[] = []
  for (const { txID: tx, ret, raw_data } of transactions) {
    if (ret?.[0]?.contractRet !== 'SUCCESS') continue
    const { type, parameter } = raw_data.contract[0]!
    const { owner_address, to_address, contract_address, amount, call_value } = parameter.value
    const trx = (from: unknown, to: unknown, value: unknown) =>
      events.push({
        kind: 'move',
        tx,
        asset: 'TRX',
        amount: BigInt(String(value ?? 0)),
        from: textOf(String(from)),
        to: textOf(String(to)),
      })
    if (type === 'TransferContract') trx(owner_address, to_address, amount)
    if (type === 'TriggerSmartContract' && call_value)
      trx(owner_address, contract_address, call_value)
    const { log = [], internal_transactions = [] } = by_id.get(tx) ?? {}
    for (const one of log) if (textOf(one.address) === token) noteLog(events, { tx, token, ...one })
    for (const inner of internal_transactions) {
      if (inner.rejected) continue
      for (const { callValue, tokenId } of inner.callValueInfo ?? []) {
        if (callValue && tokenId === undefined)
          trx(inner.caller_address, inner.transferTo_address, callValue)
      }
    }
  }
  return { time: block_header.raw_data.timestamp, events }
}

type Log = { tx: string; token: string; topics: string[]; data?: string }

function noteLog(events: Event[], { tx, token, topics, data = '' }: Log): void {
  const word = (i: number) => textOf(topics[i]!.slice(24))
  if (topics[0] === TRANSFER) {
    events.push({
      kind: 'move',
      tx,
      asset: token,
      from: word(1),
      to: word(2),
      amount: BigInt(`0x${data}`),
    })
  }
  const frozen = FREEZES[topics[0]!]
  const listed = topics[1]?.slice(24) ?? data.slice(24, 64)
  if (frozen !== undefined) events.push({ kind: 'freeze', address: textOf(listed), frozen })
}
