// What a restored database lost and the chain has kept: transactions of ours become attempts again,
// for what they were for. A transaction that is not signed yet but was before is not sent a second
// time, a stake that was taken back is not asked for again (it could be the stake of a newer order
// by now), and a payment that went back does not go back twice. Votes and rewards that were
// withdrawn get the rows that they were made for, and rewards are booked by these.

import { type Address, addressFromHex, addressToHex } from 'penstock-tron/address.ts'
import {
  type Contract,
  decodeRawData,
  encodeTransaction,
  transactionId,
} from 'penstock-tron/transaction.ts'
import { type FoundTransaction, includeUnsigned, insertFound } from '../../chain/follow/attempts.ts'
import { effectOf, lockUnsigned } from '../../chain/follow/found_attempts.ts'
import { fieldsOf, listOf, text } from '../../chain/node/answers.ts'
import type { Node } from '../../chain/node/node.ts'
import { NETWORK_FEE_SUN } from '../../chain/signing/signer.ts'
import type { ChainView } from '../../health/books/chain.ts'
import { Outage } from '../../lib/fault.ts'
import type { NewId } from '../../lib/ids.ts'
import { delegationsOnChain } from '../../market/pool/delegations.ts'
import type { Tx } from '../../platform/database/sql.ts'
import type { UnknownTransaction } from '../../run/backups/unknown_transactions.ts'
import type { WitnessVotes } from '../../treasury/votes/plan.ts'
import { insertFoundClaims, insertFoundVotes } from '../../treasury/votes/votes.ts'

type Recharge = { tx_id: string; from: Address; sun: bigint }
export type Adoption = { tx_id: string; subject: string }

/** Reads them whole. Throws Outage when the node does not have one as it is. */
export async function readAll(
  chain: ChainView,
  unknown: readonly UnknownTransaction[],
): Promise<FoundTransaction[]> {
  const found: FoundTransaction[] = []
  for (const one of unknown) found.push(await readFound(chain, one))
  return found
}

async function readFound(
  { ask }: ChainView,
  { tx_id, block_number, block_id, block_time }: UnknownTransaction,
): Promise<FoundTransaction> {
  const path = '/walletsolidity/gettransactionbyid'
  const answer = fieldsOf(await ask(path, { value: tx_id }), path)
  const raw_data = Buffer.from(text(answer.raw_data_hex ?? '', path), 'hex')
  if (transactionId(raw_data) !== tx_id) throw new Outage(`the node does not have ${tx_id}`)
  const signatures = listOf(answer.signature ?? [], path).map((one) => text(one, path))
  const { contract, expiration } = decodeRawData(raw_data)
  return {
    tx_id,
    block_number,
    block_id,
    block_time,
    contract: withResource(contract[0]!),
    signed: encodeTransaction(raw_data, signatures),
    expires_at: new Date(Number(expiration)),
  }
}

/** What is left out is the protocol's default: our own rows name it. */
function withResource(given: Contract): Contract {
  const { type, parameter } = given
  if (!type.endsWith('DelegateResourceContract')) return given
  const value = { resource: 'BANDWIDTH', ...parameter.value }
  return { ...given, parameter: { ...parameter, value } }
}

/** `votes`: of the found transactions, what those are for that vote or withdraw rewards. */
type Findings = {
  found: readonly FoundTransaction[]
  recharges: readonly Recharge[]
  votes: FoundVotes
}

/** Makes attempts of those of which it is clear what they were for; the others stay unknown. */
export async function adopt(
  tx: Tx,
  new_id: NewId,
  { found, recharges, votes }: Findings,
): Promise<Adoption[]> {
  const unsigned = Map.groupBy(await lockUnsigned(tx), ({ contract }) => effectOf(contract))
  const asked = found.flatMap((one) => {
    const attempt = unsigned.get(effectOf(one.contract))?.shift()
    return attempt ? [{ ...one, id: attempt.id, subject: attempt.subject }] : []
  })
  await includeUnsigned(tx, asked)
  const done = new Set(asked.map(({ tx_id }) => tx_id))
  const others = found.filter(({ tx_id }) => !done.has(tx_id))
  const matches = [
    ...(await reclaimsOf(tx, others)),
    ...(await refundsOf(tx, others, recharges)),
    ...votesOf(others, new_id),
  ]
  const lost = matches.map(({ one, subject }) => ({ ...one, id: new_id(), subject }))
  await insertFound(tx, lost)
  insertVotes(tx, lost, votes)
  return [...asked, ...lost].map(({ tx_id, subject }) => ({ tx_id, subject }))
}

/** By the ids of their transactions: when the votes of one are counted, and what one has withdrawn
 *  of rewards. */
export type FoundVotes = {
  period_ends_at: ReadonlyMap<string, Date>
  reward_sun: ReadonlyMap<string, bigint>
}

/** The network's own, where the node does not say. */
const MAINTENANCE_MS = 21_600_000n

/** Asks the node about votes and withdrawals. Throws Outage when it does not have a receipt. */
export async function readVotes(
  node: Node,
  found: readonly FoundTransaction[],
): Promise<FoundVotes> {
  const period_ends_at = new Map<string, Date>()
  const reward_sun = new Map<string, bigint>()
  const ofType = (type: string) => found.filter(({ contract }) => contract.type === type)
  for (const { tx_id } of ofType('WithdrawBalanceContract')) {
    const sun = await node.rewardOf(tx_id)
    if (sun === undefined) throw new Outage(`no node has the receipt of ${tx_id}`)
    reward_sun.set(tx_id, sun)
  }
  const voted = ofType('VoteWitnessContract')
  if (voted.length === 0) return { period_ends_at, reward_sun }
  const next_ms = (await node.nextMaintenance()).getTime()
  const given_ms = (await node.parameters()).get('getMaintenanceTimeInterval')
  const every_ms = Number(given_ms ?? MAINTENANCE_MS)
  for (const { tx_id, block_time } of voted) {
    const periods = Math.ceil((next_ms - block_time.getTime()) / every_ms) - 1
    period_ends_at.set(tx_id, new Date(next_ms - Math.max(0, periods) * every_ms))
  }
  return { period_ends_at, reward_sun }
}

const VOTES: Readonly<Record<string, string>> = {
  VoteWitnessContract: 'vote',
  WithdrawBalanceContract: 'claim',
}

/** Each is for a row of its own, which is made with it. */
const votesOf = (found: readonly FoundTransaction[], new_id: NewId): Match[] =>
  found.flatMap((one) => {
    const noun = VOTES[one.contract.type]
    return noun === undefined ? [] : [{ one, subject: `${noun}:${new_id()}` }]
  })

type LostAttempt = FoundTransaction & { id: string; subject: string }

function insertVotes(tx: Tx, lost: readonly LostAttempt[], of: FoundVotes): void {
  const rows = lost.flatMap(({ id: attempt_id, subject, contract, block_time, tx_id }) => {
    const [noun, id] = subject.split(':')
    const { owner_address, votes } = contract.parameter.value
    if (noun !== 'vote' && noun !== 'claim') return []
    const wallet = addressFromHex(String(owner_address))
    return [{ noun, tx_id, votes, row: { id: id!, wallet, attempt_id, made_at: block_time } }]
  })
  insertFoundVotes(
    tx,
    rows
      .filter(({ noun }) => noun === 'vote')
      .map(({ tx_id, votes, row }) => ({
        ...row,
        votes: ballotOf(votes),
        period_ends_at: of.period_ends_at.get(tx_id)!,
      })),
  )
  insertFoundClaims(
    tx,
    rows
      .filter(({ noun }) => noun === 'claim')
      .map(({ tx_id, row }) => ({ ...row, reward_sun: of.reward_sun.get(tx_id)! })),
  )
}

const ballotOf = (votes: unknown): WitnessVotes[] =>
  listOf(votes ?? [], 'votes').map((one) => {
    const { vote_address, vote_count } = fieldsOf(one, 'votes')
    return { witness: addressFromHex(String(vote_address)), count: BigInt(String(vote_count)) }
  })

type Match = { one: FoundTransaction; subject: string }

/** Which delegation each has taken back. The chain keeps one sum for a wallet and a receiver: of
 *  those with the same stake it is the one whose hour was over first. */
async function reclaimsOf(tx: Tx, found: readonly FoundTransaction[]): Promise<Match[]> {
  const rows = (await delegationsOnChain(tx)).map((row) => {
    const value = {
      owner_address: addressToHex(row.wallet),
      receiver_address: addressToHex(row.receiver),
      resource: row.resource === 'energy' ? 'ENERGY' : 'BANDWIDTH',
      balance: row.stake_sun,
    }
    const type = 'UnDelegateResourceContract'
    return { ...row, effect: effectOf({ type, parameter: { type_url: '', value } }) }
  })
  const there = Map.groupBy(rows, ({ effect }) => effect)
  return found.flatMap((one) => {
    const begun = (there.get(effectOf(one.contract)) ?? []).filter(
      ({ begun_at }) => begun_at < one.block_time,
    )
    const ended = begun.find(({ due_at }) => due_at <= one.block_time) ?? begun[0]
    if (!ended) return []
    there.set(
      ended.effect,
      there.get(ended.effect)!.filter((row) => row !== ended),
    )
    return [{ one, subject: `reclaim:${ended.id}` }]
  })
}

/** Which recharge each has sent back. One that has no row yet is held when it is read again. */
async function refundsOf(
  tx: Tx,
  found: readonly FoundTransaction[],
  recharges: readonly Recharge[],
): Promise<Match[]> {
  const sent = await tx<{ subject: string }>`
    select subject from attempt where state <> 'dead'
      and subject = any(${recharges.map(({ tx_id }) => `refund:${tx_id}`)})`
  const known = new Set(sent.map(({ subject }) => subject))
  const open = recharges.filter(({ tx_id }) => !known.has(`refund:${tx_id}`))
  return found.flatMap((one) => {
    const { type, parameter } = one.contract
    if (type !== 'TransferContract') return []
    const at = open.findIndex(
      ({ from, sun }) =>
        addressToHex(from) === parameter.value.to_address &&
        sun - NETWORK_FEE_SUN === parameter.value.amount,
    )
    if (at < 0) return []
    const [recharge] = open.splice(at, 1)
    return [{ one, subject: `refund:${recharge!.tx_id}` }]
  })
}
