// Rewards of voters: what a maintenance adds to each witness's sum, and what of that an account may
// withdraw. The node pays with every block; nothing that the amounts depend on changes between two
// maintenances (votes, brokerage), so here it is worked out once, at the maintenance, for all
// blocks since the last one. What a witness keeps for itself is therefore seen then, and not block
// by block.
//
// A cycle is the time between two maintenances. The sum of a witness at a cycle is what one vote
// for it has earned from the beginning until the end of that cycle, in parts of 10^-18 sun; what
// somebody has earned is the difference of two such sums, times the votes, rounded down.

import { accountOf, requireAccount, writeAccount } from '../state/accounts.ts'
import { type Contract, textOf } from '../state/execution_context.ts'
import { DAY_MS, type Parameters, WITNESS_COUNT } from '../state/parameters.ts'
import type { Account, Candidate, Vote } from '../state/records.ts'
import { invalid } from '../state/refusal.ts'
import { addTotals, type Layer, totalsOf, type View } from '../state/state.ts'
import { candidatesOf } from './candidates.ts'

const STANDBY_COUNT = 127
const DECIMALS = 10n ** 18n

/** The number of the time between two maintenances, from 0: as many as there were. */
const rewardCycle = (view: View): bigint => totalsOf(view).reward_cycle

const sumAt = (view: View, cycle: bigint, address: string): bigint =>
  view.read('earned', `${cycle}:${address}`) ?? 0n

/** The part of a payment that the witness keeps, in the node's own arithmetic: doubles, rounded
 *  down. */
const keptOf = (value: bigint, brokerage: number): bigint =>
  BigInt(Math.trunc((brokerage / 100) * Number(value)))

/** The pay of each block to the first 127 by votes. */
function standbyPay(candidates: readonly Candidate[], pay_sun: number): Map<string, bigint> {
  const ranked = candidates
    .toSorted((a, b) => Number(b.votes - a.votes) || (a.address < b.address ? 1 : -1))
    .slice(0, STANDBY_COUNT)
  const votes = ranked.reduce((sum, one) => sum + one.votes, 0n)
  if (votes === 0n) return new Map()
  const each = pay_sun / Number(votes)
  return new Map(
    ranked.map((one) => [one.address, BigInt(Math.trunc(Number(one.votes) * each))] as const),
  )
}

/** Ends a cycle: pays for its blocks, of which `made` says how many each witness has made. Votes
 *  are counted after it. */
export function endCycle(
  state: Layer,
  made: ReadonlyMap<string, bigint>,
  parameters: Pick<Parameters, 'getWitnessPayPerBlock' | 'getWitness127PayPerBlock'>,
): void {
  const cycle = rewardCycle(state)
  const candidates = candidatesOf(state)
  const standby = standbyPay(candidates, parameters.getWitness127PayPerBlock)
  const block_sun = BigInt(parameters.getWitnessPayPerBlock)
  const blocks = [...made.values()].reduce((sum, count) => sum + count, 0n)
  for (const { address, votes, brokerage, paid_brokerage } of candidates) {
    const payments: [sun: bigint, times: bigint][] = [
      [block_sun, made.get(address) ?? 0n],
      [standby.get(address) ?? 0n, blocks],
    ]
    let shared = 0n
    let kept = 0n
    for (const [sun, times] of payments) {
      const own = keptOf(sun, paid_brokerage)
      kept += own * times
      shared += (sun - own) * times
    }
    if (kept > 0n) addAllowance(state, address, kept)
    const before = sumAt(state, cycle - 1n, address)
    const more = shared === 0n || votes === 0n ? 0n : (shared * DECIMALS) / votes
    if (before + more > 0n) state.write('earned', `${cycle}:${address}`, before + more)
    const candidate = state.read('candidate', address)!
    if (candidate.paid_brokerage !== brokerage)
      state.write('candidate', address, { ...candidate, paid_brokerage: brokerage })
  }
  addTotals(state, { reward_cycle: 1n })
}

function addAllowance(state: Layer, address: string, sun: bigint): void {
  const account = requireAccount(state, address)
  writeAccount(state, { ...account, allowance: (account.allowance ?? 0n) + sun })
}

/** The earnings of votes from the beginning of one cycle to the beginning of another. */
function earned(view: View, votes: readonly Vote[], begin: bigint, end: bigint): bigint {
  if (begin >= end) return 0n
  return votes.reduce((sun, { address, count }) => {
    const sum = sumAt(view, end - 1n, address) - sumAt(view, begin - 1n, address)
    return sum <= 0n ? sun : sun + (sum * count) / DECIMALS
  }, 0n)
}

type Settlement = { sun: bigint; counted: Account['counted'] }

/** The earnings of an account that are not in its allowance yet, and from where on it is counted
 *  then. Votes cast in a cycle earn from the next one on; those that they replaced earn to the end
 *  of the cycle. */
function settlementOf(view: View, account: Account): Settlement {
  const current = rewardCycle(view)
  const { votes = [], counted = { begin: 0n, end: -1n, votes: undefined } } = account
  let { begin } = counted
  const nothing = { sun: 0n, counted: account.counted }
  if (begin > current || (begin === current && counted.votes !== undefined)) return nothing
  let sun = 0n
  if (begin + 1n === counted.end && begin < current) {
    if (counted.votes !== undefined) sun += earned(view, counted.votes, begin, counted.end)
    begin += 1n
  }
  if (votes.length === 0)
    return { sun, counted: { begin: current + 1n, end: counted.end, votes: undefined } }
  sun += earned(view, votes, begin, current)
  return { sun, counted: { begin: current, end: current + 1n, votes } }
}

/** The account with what it has earned so far in its allowance: before its votes change. */
export function withEarnings(view: View, account: Account): Account {
  const { sun, counted } = settlementOf(view, account)
  const allowance = (account.allowance ?? 0n) + sun
  return {
    ...account,
    ...(counted !== undefined && { counted }),
    ...(allowance > 0n && { allowance }),
  }
}

/** The sun that an account could withdraw now. */
export const rewardOf = (view: View, address: string): bigint => {
  const account = accountOf(view, address)
  return account ? (account.allowance ?? 0n) + settlementOf(view, account).sun : 0n
}

export const withdrawReward: Contract = {
  validate({ state, now_ms }, message) {
    const owner = textOf(message, 'owner_address')
    if (owner.length !== 42 || !owner.startsWith('41')) throw invalid('Invalid address')
    const account = accountOf(state, owner)
    if (!account) throw invalid(`Account[${owner}] not exists`)
    const rank = state.read('register', '')!.indexOf(owner)
    if (rank >= 0 && rank < WITNESS_COUNT) {
      const guard = 'is a guard representative and is not allowed to withdraw Balance'
      throw invalid(`Account[${owner}] ${guard}`)
    }
    const { withdrew_at_ms = 0 } = account
    if (now_ms - withdrew_at_ms < DAY_MS)
      throw invalid(`The last withdraw time is ${withdrew_at_ms}, less than 24 hours`)
    if (rewardOf(state, owner) <= 0n) throw invalid('witnessAccount does not have any reward')
  },

  execute({ state, now_ms }, message) {
    const account = withEarnings(state, requireAccount(state, textOf(message, 'owner_address')))
    const { allowance: sun = 0n, ...rest } = account
    writeAccount(state, { ...rest, balance: rest.balance + sun, withdrew_at_ms: now_ms })
    addTotals(state, { issued_sun: sun })
    return { fee_sun: 0n, reward_sun: sun }
  },
}
