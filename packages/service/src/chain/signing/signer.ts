// Signs transactions of the service's own wallets, and nothing else. It decodes the bytes that it
// is asked to sign and works out by itself, from the rows, why they may be signed; anyone who calls
// it, with whatever intent, gets no signature for what no order, delegation or deposit asks for
// (signing_reasons.ts), not more than its limits within an hour or a day (signing_limits.ts), by
// itself or together with others (signing_amounts.ts), and no second transaction for one attempt
// (signature_log.ts). It asks no node and needs nothing of the rest of the service, so that it can
// become a process of its own: the type Signer is the door.

import { bytesToHex } from '@noble/hashes/utils.js'
import { type Address, addressFromHex, isAddress } from 'penstock-tron/address.ts'
import { addressOf, type PrivateKey, sign } from 'penstock-tron/keys.ts'
import type { Message } from 'penstock-tron/protobuf.ts'
import {
  type Contract,
  decodeRawData,
  encodeRawData,
  type RawData,
  transactionId,
} from 'penstock-tron/transaction.ts'
import type { Clock } from '../../lib/clock.ts'
import { SUN_PER_TRX } from '../../lib/json.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { Resource } from '../node/node.ts'
import {
  KEPT_MS,
  REFUNDS_KEPT_MS,
  type SignatureLog,
  type SignatureRecord,
} from './signature_log.ts'
import { SigningAmounts } from './signing_amounts.ts'
import { type LimitsConfig, SignedSums, type Stakes } from './signing_limits.ts'
import { type Operation, objection, type Reason, reasonsOf } from './signing_reasons.ts'

/** A wallet that the service may act for: the account, and the key of one of its permissions (0 is
 *  the owner's). A process that signs nothing, an API alone, needs no keys. */
export type Wallet = {
  address: Address
  permission_id: number
  private_key?: PrivateKey
  /** Other keys that its permission may have: the next hot key while keys are being changed. */
  spare_keys?: readonly Address[]
}

export type SignerOptions = {
  pool: readonly Wallet[]
  activation: Wallet
  refund?: Wallet | undefined
  votes?: readonly Wallet[]
  recharge_address: Address
  limits?: LimitsConfig
  /** The most that one delegation may stake, in sun. */
  delegation_max_sun?: bigint
  /** The most that one refund may send, in sun. */
  refund_max_sun?: bigint
}

export type SignerNeeds = {
  sql: Sql
  clock: Clock
  log: SignatureLog
  /** Whether nothing may be signed for a wallet, because its key can do more than its line. */
  isStopped: (wallet: Address) => boolean
  /** What the pool's wallets have staked, for the limits. */
  stakes: () => Stakes
  /** Whether this machine was told to sign nothing, whatever the database says. */
  stopped_here: () => boolean
}

export type SignInput = { attempt: string; raw_data: Uint8Array }

/** `signed`: what was signed for the attempt, now or before, which then has other bytes than were
 *  asked for. `refused`: by a rule; somebody should know. `waits`: signing is stopped. `moot`: the
 *  attempt does not wait for a signature any more. */
export type SignOutcome =
  | { state: 'signed'; raw_data: Uint8Array; tx_id: string; signature: string; expires_at: Date }
  | { state: 'refused' | 'waits'; why: string }
  | { state: 'moot' }

/** Signs a batch; the outcomes come in its order. Throws Outage when the database does not
 *  answer. */
export type Signer = (batch: readonly SignInput[]) => Promise<SignOutcome[]>

/** The most that one delegation stakes: what needs more is delegated in several. */
export const DELEGATION_MAX_SUN = 1_000_000_000_000n
/** The most that one refund sends: what is more, the operator decides about. */
export const REFUND_MAX_SUN = 1_000_000_000n
/** What sending a refund costs, in sun: 267 bytes of bandwidth at 1000 sun, and the signature of a
 *  permission. */
export const NETWORK_FEE_SUN = 300_000n
const EXPIRATION_MAX_MS = 24 * 3_600_000
/** How long an attempt that is asked for again gets what was signed for it. */
const AGAIN_MS = 2 * 3_600_000
/** How much later the next transaction for the same must expire than one that is dead. */
const LATER_MS = 30_000
/** For a refund longer: by then one that is on the chain is solid, and booked as gone. */
const REFUND_LATER_MS = 180_000

/** A signature takes most of a millisecond: after so many, what else is under way gets its turn. */
const YIELD_EVERY = 10

class SigningRefusal extends Error {}
class Early extends Error {}

type Policy = Required<Pick<SignerOptions, 'delegation_max_sun' | 'refund_max_sun'>> & SignerOptions
/** What the bytes are, read and found to be of a form that a wallet here signs. */
type Form = Operation & { tx_id: string; expires_at: number; key: Wallet }
/** The sums of all machines, and whether an attempt was counted by one of them just now. */
type SumsOfAll = { sums: SignedSums; isUnderWay: (attempt: string) => boolean }
type EarlierSignature = Pick<SignatureRecord, 'attempt' | 'tx_id' | 'expires_at' | 'at' | 'type'>

export function localSigner(options: SignerOptions, needs: SignerNeeds): Signer {
  const policy = {
    delegation_max_sun: DELEGATION_MAX_SUN,
    refund_max_sun: REFUND_MAX_SUN,
    ...options,
  }
  const { pool, activation, refund, votes = [] } = options
  for (const wallet of [...pool, activation, ...(refund ? [refund] : []), ...votes]) {
    if (!isAddress(wallet.address))
      throw new TypeError(`${wallet.address} is not the address of a wallet`)
    if (wallet.private_key !== undefined) addressOf(wallet.private_key)
  }
  const signer = new LocalSigner(policy, needs)
  let last: Promise<unknown> = Promise.resolve()
  return (batch) => {
    // One after the other: each counts what the one before has signed.
    const mine = last.then(() => signer.sign(batch))
    last = mine.catch(() => {})
    return mine
  }
}

class LocalSigner {
  private readonly policy: Policy
  private readonly needs: SignerNeeds
  /** Of this machine's signatures. */
  private readonly sums = new SignedSums()
  /** Of all machines'. */
  private readonly amounts: SigningAmounts
  /** In the order in which they were signed. */
  private readonly by_attempt = new Map<string, SignatureRecord>()
  private readonly by_subject = new Map<string, EarlierSignature>()
  /** The log could not keep the last signatures. */
  private unkept = false

  constructor(policy: Policy, needs: SignerNeeds) {
    this.policy = policy
    this.needs = needs
    this.amounts = new SigningAmounts(needs)
  }

  async sign(batch: readonly SignInput[]): Promise<SignOutcome[]> {
    const { sql, log, stopped_here } = this.needs
    if (stopped_here())
      return batch.map(() => ({ state: 'waits', why: 'signing was stopped on this machine' }))
    for (const one of await log.news()) this.remember(one)
    this.forget()
    // A count is never taken back: while the disk is full, tries would use the limits up.
    if (this.unkept) await log.append([])
    this.unkept = false
    const attempts = batch.map(({ attempt }) => attempt)
    const rows = await reasonsOf(sql, attempts, this.policy.recharge_address)
    const { outcomes, fresh } = await this.judgeAll(batch, rows)
    // On disk before anybody has it; the signatures are made meanwhile.
    const kept = log.append(fresh.map(({ signed }) => signed))
    kept.catch(() => {
      this.unkept = true
    })
    for (const [i, { at, form, signed }] of fresh.entries()) {
      if (i % YIELD_EVERY === YIELD_EVERY - 1) await new Promise((resolve) => setImmediate(resolve))
      outcomes[at] = outcomeOf(signed, form.key)
    }
    await kept
    for (const { signed } of fresh) this.keep(signed)
    return outcomes
  }

  /** The outcomes of a batch, and the signatures to be made now: these are counted by then. */
  private async judgeAll(batch: readonly SignInput[], rows: readonly Reason[]) {
    const reasons = new Map(rows.map((row) => [row.attempt, row]))
    const ended = await this.endedBefore(rows)
    const outcomes: SignOutcome[] = []
    const fresh: { at: number; form: Form; signed: SignatureRecord }[] = []
    const judge = (all?: SumsOfAll): SignatureRecord[] => {
      for (const [at, one] of batch.entries()) {
        const judged = this.judge(one, reasons.get(one.attempt), ended, all)
        outcomes.push('state' in judged ? judged : { state: 'moot' })
        if (!('state' in judged)) fresh.push({ at, ...judged })
      }
      return fresh.map(({ signed }) => signed)
    }
    // Reclaims have no limit: they need no sums.
    if (!rows.some(({ state, purpose }) => state === 'new' && purpose !== 'reclaim')) {
      judge()
      return { outcomes, fresh }
    }
    const counting = this.amounts.count((sums, isUnderWay) => judge({ sums, isUnderWay }))
    await counting.catch((thrown: unknown) => {
      for (const { signed } of fresh) this.sums.remove(signed)
      throw thrown
    })
    return { outcomes, fresh }
  }

  /** A signature to be made now, or an outcome that needs none. */
  private judge(
    one: SignInput,
    reason: Reason | undefined,
    ended: ReadonlySet<string>,
    all: SumsOfAll | undefined,
  ): SignOutcome | { form: Form; signed: SignatureRecord } {
    if (!reason) return { state: 'refused', why: 'there is no such attempt' }
    if (reason.state !== 'new') return { state: 'moot' }
    if (reason.stopped) return { state: 'waits', why: 'signing was stopped' }
    try {
      const form = readForm(one.raw_data, this.policy)
      if (this.needs.isStopped(form.wallet)) {
        return { state: 'waits', why: `the key of ${form.wallet} can do more than its line` }
      }
      const against = objection(reason, form, {
        fee_sun: NETWORK_FEE_SUN,
        power: this.powerOf(form),
      })
      if (against !== undefined) throw new SigningRefusal(against)
      const before = this.by_attempt.get(one.attempt)
      if (before) return outcomeOf(before, form.key)
      this.requireNoOther(reason, form, ended)
      if (all?.isUnderWay(one.attempt)) throw new Early('another process has counted it just now')
      const signed = this.entryOf(one, reason, form)
      this.addWithinLimits(signed, all?.sums)
      return { form, signed }
    } catch (thrown) {
      if (thrown instanceof Early) return { state: 'waits', why: thrown.message }
      return { state: 'refused', why: thrown instanceof Error ? thrown.message : String(thrown) }
    }
  }

  /** Throws, and adds nothing, when it is above a limit by what was signed here or by all. */
  private addWithinLimits(signed: SignatureRecord, of_all: SignedSums | undefined): void {
    const bounds: [SignedSums, string][] = [[this.sums, 'a limit']]
    if (of_all) bounds.push([of_all, 'a limit of all machines together'])
    for (const [sums, what] of bounds) {
      const above = sums.above(signed, this.policy.limits ?? {}, this.needs.stakes())
      if (above !== undefined) throw new SigningRefusal(`it is above ${what}: ${above}`)
    }
    for (const [sums] of bounds) sums.add(signed)
  }

  /** How many votes the stake of the wallet gives, as far as is known here. Throws Early while it
   *  is not. */
  private powerOf({ type, wallet }: Form): bigint {
    if (type !== 'VoteWitnessContract') return 0n
    const stake_sun = this.needs.stakes()?.get(wallet)
    if (stake_sun === undefined) throw new Early(`it is not known what ${wallet} has staked`)
    return stake_sun / SUN_PER_TRX
  }

  /** Throws when another transaction for the same could still be in a block, or be put into one. */
  private requireNoOther(
    { subject, attempt }: Reason,
    form: Form,
    ended: ReadonlySet<string>,
  ): void {
    const earlier = this.by_subject.get(subject)
    if (!earlier) return
    const { tx_id, expires_at } = earlier
    if (earlier.attempt === attempt)
      throw new SigningRefusal(`${tx_id} was signed for it, too long ago`)
    if (!ended.has(earlier.attempt))
      throw new SigningRefusal(`${tx_id} was signed for ${subject} before, and is not dead`)
    const least_ms = form.type === 'TransferContract' ? REFUND_LATER_MS : LATER_MS
    if (form.expires_at - expires_at < least_ms)
      throw new Early(`${tx_id} for ${subject} has not ended for long`)
  }

  /** Of the attempts for which something was signed before, for the same as now: those that are
   *  dead. */
  private async endedBefore(rows: readonly Reason[]): Promise<ReadonlySet<string>> {
    const earlier = rows.flatMap(({ subject, attempt }) => {
      const before = this.by_subject.get(subject)
      return before === undefined || before.attempt === attempt ? [] : [before.attempt]
    })
    if (earlier.length === 0) return new Set()
    const dead = await this.needs.sql<{ id: string }>`
      select id from attempt where id = any(${earlier}) and state = 'dead'`
    return new Set(dead.map(({ id }) => id))
  }

  private entryOf(
    { attempt, raw_data }: SignInput,
    { subject }: Reason,
    form: Form,
  ): SignatureRecord {
    const { tx_id, type, wallet, receiver, sun, expires_at } = form
    return {
      at: this.needs.clock.now().getTime(),
      attempt,
      subject,
      tx_id,
      type,
      wallet,
      receiver,
      sun,
      expires_at,
      raw_data: Buffer.from(raw_data).toString('base64'),
    }
  }

  /** Something that the log has. What this process has signed itself counts already. */
  private remember(signed: SignatureRecord): void {
    if (this.by_subject.get(signed.subject)?.tx_id === signed.tx_id) return
    this.sums.add(signed)
    this.keep(signed)
  }

  private keep(signed: SignatureRecord): void {
    const { attempt, tx_id, expires_at, at, type, subject } = signed
    this.by_attempt.set(attempt, signed)
    const other = this.by_subject.get(subject)
    if (other && other.expires_at > expires_at) return
    this.by_subject.delete(subject)
    this.by_subject.set(subject, { attempt, tx_id, expires_at, at, type })
  }

  /** What no rule asks about any more. */
  private forget(): void {
    const now = this.needs.clock.now().getTime()
    for (const [attempt, { at }] of this.by_attempt) {
      if (at > now - AGAIN_MS) break
      this.by_attempt.delete(attempt)
    }
    for (const [subject, { at, type }] of this.by_subject) {
      if (at > now - KEPT_MS) break
      if (type !== 'TransferContract' || at < now - REFUNDS_KEPT_MS) this.by_subject.delete(subject)
    }
  }
}

function outcomeOf(
  { raw_data, tx_id, expires_at }: SignatureRecord,
  { private_key }: Wallet,
): SignOutcome {
  return {
    state: 'signed',
    raw_data: new Uint8Array(Buffer.from(raw_data, 'base64')),
    tx_id,
    signature: sign(tx_id, private_key!),
    expires_at: new Date(expires_at),
  }
}

/** Reads the bytes. Throws SigningRefusal for what no wallet here signs, no matter who asks. */
function readForm(raw_data: Uint8Array, policy: Policy): Form {
  const decoded = decodeRawData(raw_data)
  // What cannot be read back as the same bytes carries something that was not understood.
  if (bytesToHex(encodeRawData(decoded)) !== bytesToHex(raw_data))
    throw new SigningRefusal('it has unknown fields')
  const [contract, ...more] = decoded.contract
  if (!contract || more.length > 0)
    throw new SigningRefusal('it does not have exactly one contract')
  if (decoded.fee_limit !== undefined || decoded.data !== undefined) {
    throw new SigningRefusal('it has a memo or a fee limit')
  }
  const key = walletFor(contract, policy)
  if (key.private_key === undefined)
    throw new SigningRefusal(`this process has no key for ${key.address}`)
  return {
    ...operationOf(contract),
    tx_id: transactionId(raw_data),
    expires_at: expirationOf(decoded),
    key,
  }
}

function expirationOf({ expiration, timestamp }: RawData): number {
  const expires_at = Number(expiration)
  if (expires_at - Number(timestamp ?? 0) > EXPIRATION_MAX_MS)
    throw new SigningRefusal('it is valid for more than a day')
  return expires_at
}

const RESOURCES: Readonly<Record<string, Resource>> = { ENERGY: 'energy', BANDWIDTH: 'bandwidth' }

function operationOf({ type, parameter: { value } }: Contract): Operation {
  // Who votes, or withdraws what votes have earned, does it for itself.
  const receiver =
    value.receiver_address ?? value.account_address ?? value.to_address ?? value.owner_address
  return {
    type,
    wallet: addressFromHex(String(value.owner_address)),
    votes: votesIn(value),
    receiver: addressFromHex(String(receiver)),
    // What is left out is the protocol's default.
    resource: type.includes('Delegate')
      ? RESOURCES[String(value.resource ?? 'BANDWIDTH')]
      : undefined,
    sun: BigInt(String(value.balance ?? value.amount ?? 0)),
  }
}

const votesIn = ({ votes = [] }: Message) =>
  (votes as Message[]).map(({ vote_address, vote_count }) => ({
    witness: addressFromHex(String(vote_address)),
    count: BigInt(String(vote_count ?? 0)),
  }))

function walletFor(contract: Contract, policy: Policy): Wallet {
  const { value } = contract.parameter
  const wallets = walletsOfType(contract.type, value, policy)
  const owner = addressFromHex(String(value.owner_address))
  const permission_id = contract.Permission_id ?? 0
  const wallet = wallets.find((one) => one.address === owner && one.permission_id === permission_id)
  if (!wallet) throw new SigningRefusal(`no key here is for a ${contract.type} of ${owner}`)
  return wallet
}

function walletsOfType(type: string, value: Message, policy: Policy): readonly Wallet[] {
  if (type === 'AccountCreateContract') return [policy.activation]
  if (type === 'VoteWitnessContract' || type === 'WithdrawBalanceContract')
    return policy.votes ?? []
  if (type === 'TransferContract') {
    const sun = BigInt(String(value.amount ?? 0))
    if (sun <= 0n || sun > policy.refund_max_sun)
      throw new SigningRefusal(`${sun} sun is too much for a refund`)
    return policy.refund ? [policy.refund] : []
  }
  if (type !== 'DelegateResourceContract' && type !== 'UnDelegateResourceContract') {
    throw new SigningRefusal(`nothing here signs a ${type}`)
  }
  const stake_sun = BigInt(String(value.balance ?? 0))
  const most_sun = type === 'DelegateResourceContract' ? policy.delegation_max_sun : stake_sun
  if (stake_sun <= 0n || stake_sun > most_sun)
    throw new SigningRefusal(`${stake_sun} sun is too much`)
  if (value.lock) throw new SigningRefusal('a locked delegation could not be taken back')
  return policy.pool
}
