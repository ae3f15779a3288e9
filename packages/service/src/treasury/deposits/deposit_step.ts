// Reads what arrives at addresses of ours from blocks. As soon as a block has a deposit it is
// noted, as seen; what becomes of it is decided when that block is solid, except for direct
// recharges that are acted on at inclusion (recharges.ts). A customer's deposit is credited then,
// once, whatever is restarted: the ledger entry, the deposit and the cursor are one transaction.
//
// Held for the operator is what can neither be credited nor go back: what a blacklisted sender
// sends, money of high risk where the policy holds that, a token that is not TRX, what is for a
// customer who is suspended or closed, and TRX that a contract sent to the published address,
// because a contract can receive neither energy nor a plain transfer. Of that, what is too little
// to look at is ignored, and so is a token that is not followed: anybody can make one, and send as
// much of it as he likes.

import type { Address } from 'penstock-tron/address.ts'
import { blocksAt, type StoredBlock } from '../../chain/follow/blocks.ts'
import type { Move } from '../../chain/follow/contents.ts'
import {
  type BlockReader,
  isBehind,
  type ReadStep,
  readBlocks,
} from '../../chain/follow/cursors.ts'
import {
  customerAccount,
  HELD_DEPOSITS,
  lockAccounts,
  moveAll,
  WORLD,
} from '../../ledger/accounts/ledger.ts'
import type { Clock } from '../../lib/clock.ts'
import { Outage } from '../../lib/fault.ts'
import {
  type AddressOwner,
  customersOfAddresses,
  DIRECT_RECHARGE,
} from '../../people/customers/customers.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { StepName } from '../../platform/steps/step.ts'
import type { HeldSenders } from '../../screening/engine/barred.ts'
import type { Issuers } from '../../screening/engine/issuers.ts'
import type { MoneyReading } from '../../screening/engine/money.ts'
import { currentPolicy } from '../../screening/engine/policy.ts'
import {
  BLOCKED,
  type Deposit,
  forgetMissing,
  HIGH_RISK,
  noteArrived,
  placeOf,
  UNFOLLOWED,
} from './deposits.ts'
import { noteScreenings, screeningsAt } from './screenings.ts'

export type Needs = {
  sql: Sql
  clock: Clock
  recharge_address: Address
  /** Whether a direct recharge is acted on when a block has it, or when that block is solid. */
  recharge_at: 'inclusion' | 'solid'
  heldSenders: HeldSenders
  issuers: Issuers
  /** What would be held is ignored when it is less than this. */
  dust_sun: bigint
  wake: (step: StepName) => void
}

/** Less than this is ignored, unless the operator says otherwise: it is not worth anybody's
 *  time. */
export const DUST_SUN = 100_000n
/** The same for a token that is followed, in its smallest unit: a dollar of USDT. */
const TOKEN_DUST = 1_000_000n
/** So many rows one transaction can make with what is worth nothing. The others are counted in the
 *  last of them. */
export const WORTHLESS_ROWS = 10

/** Reads solid blocks: credits customers, and books what arrived for direct recharge. */
export function creditStep(needs: Needs): ReadStep {
  const { sql } = needs
  const reads: BlockReader = {
    name: 'deposits',
    side: 'solid',
    work: (tx, blocks) => credit(tx, needs, { blocks, unasked: new Set() }),
  }
  return {
    name: 'credit',
    rest_ms: 3_000,
    due: (sql) => isBehind(sql, reads),
    duty: 'blocks',
    // Where money of high risk is held, it is known before what it was.
    after: ['follow', 'confirm', 'screen_deposits'],
    before: ['publish'],
    reads,
    async run() {
      const unasked = new Set<Address>()
      const readCredits = (unasked: Set<Address> | undefined) =>
        screenedFirst(needs, () =>
          readBlocks(sql, reads, (tx, blocks) => credit(tx, needs, { blocks, unasked })),
        )
      const moved = await readCredits(unasked).catch((thrown: unknown) => {
        if (unasked.size > 0) return 'unasked' as const
        throw thrown
      })
      if (moved !== 'unasked') return moved === true
      // What cannot be asked now holds nothing up.
      await needs.issuers.ask([...unasked])
      return (await readCredits(undefined)) === true
    },
  }
}

/** Solid blocks. `unasked` collects senders whom an issuer was not asked about, and then nothing is
 *  credited; undefined: they were. */
type CreditPortion = { blocks: readonly StoredBlock[]; unasked: Set<Address> | undefined }

async function credit(tx: Tx, needs: Needs, { blocks, unasked }: CreditPortion): Promise<void> {
  const all = await arrivalsForUs(tx, needs, blocks)
  if (unasked) {
    for (const sender of await needs.issuers.unasked(tx, sendersOf(all))) unasked.add(sender)
    if (unasked.size > 0) throw new Outage('issuers were not asked about all senders')
  }
  // What contracts sent is in no account before the balance bears it out (holdings.ts).
  const unproven = all
    .filter(isSentByContract)
    .map((one): JudgedArrival => ({ ...one, state: 'unproven', reason: null }))
  const now = needs.clock.now()
  // Their blocks are kept until they are screened.
  if (unproven.length > 0 && (await isHeldByMoney(tx))) await readingsOf(tx, unproven)
  await noteArrived(tx, unproven, { solid: false, now })
  await noteOutflows(tx, needs, blocks)
  const arrivals = all.filter((one) => !isSentByContract(one))
  await book(tx, needs, arrivals)
}

const isSentByContract = ({ position, amount_sun }: Arrival) => position < 0 && amount_sun !== null

/** Books what the balances of its addresses bear out. Gives back the places of what is booked: all
 *  that is in blocks that are still kept. */
export async function creditProven(
  tx: Tx,
  needs: Needs,
  proven: readonly Deposit[],
): Promise<Set<string>> {
  const blocks = await blocksAt(tx, [...new Set(proven.map((one) => one.block_number))])
  const places = new Set(proven.map(placeOf))
  const arrivals = (await arrivalsForUs(tx, needs, blocks)).filter((one) =>
    places.has(placeOf(one)),
  )
  await book(tx, needs, arrivals)
  return new Set(arrivals.map(placeOf))
}

async function book(tx: Tx, needs: Needs, arrivals: readonly OwnArrival[]): Promise<void> {
  // All accounts of the portion at once, in the order of their ids: one by one could deadlock with
  // a purchase.
  await lockAccounts(tx, [...new Set(arrivals.map(accountOf))])
  const fated = await withFates(tx, needs, arrivals, true)
  const made_at = needs.clock.now()
  await noteArrived(tx, fated, { solid: true, now: made_at })
  await noteScreenings(tx, fated.filter(isScreened), made_at)
  await moveAll(
    tx,
    fated.flatMap((arrival) => {
      const { amount_sun, customer_id, state } = arrival
      if (amount_sun === null) return []
      const held = customer_id !== null && state !== 'credited'
      const account = held ? HELD_DEPOSITS : accountOf(arrival)
      return [
        { id: `deposit:${placeOf(arrival)}`, debit: WORLD, credit: account, amount_sun, made_at },
      ]
    }),
  )
}

/** Writes down what left addresses where deposits arrive; the fees are asked for later. */
async function noteOutflows(
  tx: Tx,
  { clock, recharge_address }: Needs,
  blocks: readonly StoredBlock[],
): Promise<void> {
  const now = clock.now()
  const outflows = blocks.flatMap(
    ({ number, contents: { moves, unfollowed, energy_uses, fees } }) => [
      ...[...moves, ...unfollowed]
        .filter(({ kind }) => kind === 'transfer' || kind === 'call_value')
        .map(({ tx_id, from, asset, amount }) => ({
          number,
          tx_id,
          from,
          sun: asset === 'TRX' ? amount : 0n,
        })),
      ...[...energy_uses, ...fees].map(({ tx_id, owner }) => ({
        number,
        tx_id,
        from: owner,
        sun: 0n,
      })),
    ],
  )
  const owners = await customersOfAddresses(tx, [...new Set(outflows.map(({ from }) => from))])
  // A call that sends TRX along is there twice: with what it sends, and for its energy.
  const sorted = outflows.toSorted((a, b) => (a.sun < b.sun ? -1 : a.sun > b.sun ? 1 : 0))
  const mine = sorted.filter(({ from }) => owners.has(from) || from === recharge_address)
  const ours = [...new Map(mine.map((one) => [one.tx_id, one])).values()]
  if (ours.length === 0) return
  await tx`
    insert into deposit_outflow (tx_id, address, block_number, amount_sun, seen_at, due_at)
    select *, ${now}::timestamptz, ${now}::timestamptz from unnest(
      ${ours.map((one) => one.tx_id)}::text[], ${ours.map((one) => one.from)}::text[],
      ${ours.map((one) => one.number)}::bigint[], ${ours.map((one) => one.sun)}::bigint[])
    on conflict (tx_id) do nothing`
}

/** Whose it is if nothing is against that. */
const accountOf = ({ customer_id }: Pick<Deposit, 'customer_id'>) =>
  customerAccount(customer_id ?? DIRECT_RECHARGE)

/** Reads blocks of the head: notes what they bring. */
export function arriveStep(needs: Needs): ReadStep {
  const { sql } = needs
  const reads: BlockReader = {
    name: 'arrivals',
    side: 'head',
    async work(tx, blocks) {
      const now = needs.clock.now()
      const present = blocks.flatMap(arrivalsOf).map((one) => one.tx_id)
      const numbers = blocks.map((block) => block.number)
      await forgetMissing(tx, numbers, { present, now })
      const arrivals = await arrivalsForUs(tx, needs, blocks)
      const fated = await withFates(tx, needs, arrivals, false)
      await noteArrived(tx, fated, { solid: false, now })
    },
  }
  return {
    name: 'arrive',
    rest_ms: 3_000,
    due: (sql) => isBehind(sql, reads),
    duty: 'blocks',
    after: ['follow'],
    before: ['publish'],
    reads,
    run: () => readBlocks(sql, reads, reads.work),
  }
}

type Arrival = {
  tx_id: string
  position: number
  from: Address
  to: Address
  /** Who has sent the transaction, when contracts moved this in it. */
  owner: Address | undefined
  amount_sun: bigint | null
  token: string | null
  token_amount: bigint | null
  /** A token that is not followed. */
  unfollowed: boolean
  /** The note of what a node shows like a contract's transfer, and which is not known to move
   *  anything. */
  note: string | undefined
  block_number: number
  block_time: Date
}

/** Transfers of TRX and of tokens, no matter who made them. */
function arrivalsOf({ number, time, contents }: StoredBlock): Arrival[] {
  const owners = new Map(contents.energy_uses.map(({ tx_id, owner }) => [tx_id, owner]))
  const by_contracts = new Map<string, number>()
  const positionOf = ({ tx_id, kind, index }: Move) => {
    if (kind === 'transfer' || kind === 'event') return index
    const before = by_contracts.get(tx_id) ?? 0
    by_contracts.set(tx_id, before + 1)
    return -1 - before
  }
  const told = [
    ...contents.moves.map((move) => ({ ...move, unfollowed: false, note: undefined })),
    ...contents.unfollowed.map((move) => ({ ...move, unfollowed: true, note: undefined })),
    ...contents.unknown.map((move) => ({ ...move, asset: 'unknown', unfollowed: false })),
  ]
  return told
    .map((move) => ({ ...move, position: positionOf(move) }))
    .filter(({ amount }) => amount > 0n)
    .map(({ tx_id, position, asset, from, to, amount, unfollowed, note }) => ({
      tx_id,
      position,
      from,
      to,
      owner: owners.get(tx_id),
      amount_sun: asset === 'TRX' ? amount : null,
      token: asset === 'TRX' ? null : asset,
      token_amount: asset === 'TRX' ? null : amount,
      unfollowed,
      note,
      block_number: number,
      block_time: time,
    }))
}

type OwnArrival = Arrival & {
  customer_id: string | null
  customer: AddressOwner | undefined
  left_out: number
}

const isWorthless = ({ unfollowed, token_amount, note }: Arrival) =>
  unfollowed || (token_amount !== null && note === undefined && token_amount < TOKEN_DUST)

/** What came to an address of ours. Of worthless tokens only the first of each transaction are
 *  there. */
async function arrivalsForUs(
  tx: Tx,
  needs: Needs,
  blocks: readonly StoredBlock[],
): Promise<OwnArrival[]> {
  const all = blocks.flatMap(arrivalsOf)
  const owners = await customersOfAddresses(tx, [...new Set(all.map((one) => one.to))])
  const ours: OwnArrival[] = []
  const worthless = new Map<string, OwnArrival[]>()
  for (const arrival of all) {
    const customer = owners.get(arrival.to)
    if (customer === undefined && arrival.to !== needs.recharge_address) continue
    const mine = { ...arrival, customer_id: customer?.id ?? null, customer, left_out: 0 }
    if (isWorthless(arrival)) {
      const before = worthless.get(arrival.tx_id) ?? []
      if (before.length === WORTHLESS_ROWS) {
        before.at(-1)!.left_out += 1
        continue
      }
      worthless.set(arrival.tx_id, [...before, mine])
    }
    ours.push(mine)
  }
  return ours
}

/** Who sent it, and who had a contract send it. */
const sendersOf = (arrivals: readonly Arrival[]): Address[] => [
  ...new Set(arrivals.flatMap(({ from, owner }) => (owner === undefined ? [from] : [from, owner]))),
]

type Fate = { state: Deposit['state']; reason: string | null }
/** `reading`: by which it is judged, where money of high risk is held. */
type JudgedArrival = OwnArrival & Fate & { reading?: MoneyReading | undefined }

/** Whether the log can have it. */
const isScreened = (arrival: Arrival) => arrival.note === undefined && !isWorthless(arrival)

/** What becomes of each now. */
async function withFates(
  tx: Tx,
  needs: Needs,
  arrivals: readonly OwnArrival[],
  solid: boolean,
): Promise<JudgedArrival[]> {
  if (arrivals.length === 0) return []
  const held = await needs.heldSenders(tx, sendersOf(arrivals))
  const by_money = await isHeldByMoney(tx)
  const readings = by_money && solid ? await readingsOf(tx, arrivals) : new Map()
  return arrivals.map((arrival) => {
    const reading = readings.get(placeOf(arrival))
    return { ...arrival, reading, ...fateOf(arrival, needs, { held, solid, by_money, reading }) }
  })
}

/** Whether money of high risk is held: then deposits are screened before they are booked. */
const isHeldByMoney = async (tx: Tx): Promise<boolean> =>
  (await currentPolicy(tx)).hold_deposits_from === 'high'

/** Deposits that have to be screened before they are booked. */
class Unscreened extends Outage {
  readonly arrivals: readonly OwnArrival[]
  constructor(arrivals: readonly OwnArrival[]) {
    super('deposits have to be screened first')
    this.arrivals = arrivals
  }
}

/** By their places. Throws Unscreened. */
async function readingsOf(
  tx: Tx,
  arrivals: readonly OwnArrival[],
): Promise<ReadonlyMap<string, MoneyReading | undefined>> {
  const wanted = arrivals.filter(isScreened)
  const screenings = await screeningsAt(tx, wanted)
  const missing = wanted.filter((one) => !screenings.get(placeOf(one))?.screened_at)
  if (missing.length > 0) throw new Unscreened(missing)
  return new Map(Array.from(screenings, ([place, one]) => [place, one.reading ?? undefined]))
}

/** Does what books deposits. Where some have to be screened first they are queued for that, and
 *  nothing is booked. */
export async function screenedFirst(
  { sql, clock, wake }: Needs,
  bookDeposits: () => Promise<boolean>,
): Promise<boolean | 'queued'> {
  try {
    return await bookDeposits()
  } catch (thrown) {
    if (!(thrown instanceof Unscreened)) throw thrown
    const now = clock.now()
    await sql.begin(async (tx) => {
      const queued = await screeningsAt(tx, thrown.arrivals)
      const seen = thrown.arrivals
        .filter((one) => !queued.has(placeOf(one)))
        .map((one) => ({ ...one, state: 'seen' as const, reason: null }))
      await noteArrived(tx, seen, { solid: false, now })
      await noteScreenings(tx, seen, now)
    })
    wake('screen_deposits')
    return 'queued'
  }
}

/** `by_money`: money of high risk is held, so nothing is decided before it is known what it was. */
type Knowledge = {
  held: ReadonlySet<Address>
  solid: boolean
  by_money: boolean
  reading: MoneyReading | undefined
}

function fateOf(
  arrival: OwnArrival,
  { recharge_address, recharge_at, dust_sun }: Needs,
  { held, solid, by_money, reading }: Knowledge,
): Fate {
  const recharge = arrival.to === recharge_address
  const against = whatIsAgainst(arrival, { recharge, held, reading })
  const waits = !recharge || recharge_at === 'solid' || by_money
  if (!solid && (against !== undefined || waits)) return { state: 'seen', reason: null }
  if (against === undefined) return { state: recharge ? 'received' : 'credited', reason: null }
  const dust = arrival.amount_sun === null ? isWorthless(arrival) : arrival.amount_sun < dust_sun
  return { state: dust ? 'ignored' : 'held', reason: against }
}

/** Why it can be neither credited nor sold for; undefined when it can. */
function whatIsAgainst(
  { unfollowed, token, from, owner, position, customer, note }: OwnArrival,
  { recharge, held, reading }: Pick<Knowledge, 'held' | 'reading'> & { recharge: boolean },
): string | undefined {
  if (unfollowed) return UNFOLLOWED
  if (note !== undefined)
    return `an internal transaction that is not known to move TRX: ${JSON.stringify(note)}`
  if (held.has(from) || (owner !== undefined && held.has(owner))) return BLOCKED
  if (reading?.risk_level === 'high') return HIGH_RISK
  if (token !== null) return 'a token that is not TRX'
  if (customer && customer.state !== 'active') return `the customer is ${customer.state}`
  return recharge && position < 0 ? 'it was sent by a contract' : undefined
}
