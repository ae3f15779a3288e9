// Witnesses and votes: who stands, how many votes they have, who voted for whom. The 27 witnesses
// of the beginning make all blocks, whatever the votes.

import { hexToBytes } from '@noble/hashes/utils.js'
import type { Message } from 'penstock-tron/protobuf.ts'
import {
  accountOf,
  burn,
  isAddressHex,
  permissionsOf,
  requireAccount,
  writeAccount,
} from '../state/accounts.ts'
import { type Contract, integerOf, textOf } from '../state/execution_context.ts'
import { SUN_PER_TRX, VOTES_MAX } from '../state/parameters.ts'
import type { Account, Vote } from '../state/records.ts'
import { invalid } from '../state/refusal.ts'
import type { Layer, View } from '../state/state.ts'
import { addCandidate, candidateOf, candidatesOf } from './candidates.ts'
import { withEarnings } from './rewards.ts'

const URL_BYTES_MAX = 256
const INT64_MAX = 2n ** 63n - 1n

/** The count of votes at maintenance. */
export function countVotes(state: Layer): void {
  for (const candidate of candidatesOf(state)) {
    if (candidate.votes === candidate.next_votes) continue
    state.write('candidate', candidate.address, { ...candidate, votes: candidate.next_votes })
  }
}

/** The stake of an account that gives votes, in sun: what it delegates included. */
export function tronPower({ frozen, delegated }: Account): bigint {
  return (
    frozen.BANDWIDTH + frozen.ENERGY + frozen.TRON_POWER + delegated.BANDWIDTH + delegated.ENERGY
  )
}

export const votesCast = ({ votes = [] }: Account): bigint =>
  votes.reduce((sum, { count }) => sum + count, 0n)

/** The account with other votes; the candidates' sums are moved along. */
function withVotes(state: Layer, account: Account, votes: readonly Vote[]): Account {
  const move = (vote: Vote, sign: bigint) => {
    const candidate = candidateOf(state, vote.address)!
    state.write('candidate', vote.address, {
      ...candidate,
      next_votes: candidate.next_votes + sign * vote.count,
    })
  }
  for (const vote of account.votes ?? []) move(vote, -1n)
  for (const vote of votes) move(vote, 1n)
  return { ...account, votes }
}

/** The account with as many votes as its stake still gives, each candidate keeping its share. */
export function withVotesOfStake(state: Layer, account: Account): Account {
  const cast = votesCast(account)
  const power = tronPower(account)
  if (cast === 0n || power >= cast * SUN_PER_TRX) return account
  // The node's own arithmetic: doubles, rounded down.
  const kept = account.votes!.map(({ address, count }) => {
    const share = ((Number(count) / Number(cast)) * Number(power)) / Number(SUN_PER_TRX)
    return { address, count: BigInt(Math.trunc(share)) }
  })
  return withVotes(
    state,
    account,
    kept.filter(({ count }) => count > 0n),
  )
}

const isUrl = (hex: string) => hex.length > 0 && hex.length <= URL_BYTES_MAX * 2
const utf8 = (hex: string) => new TextDecoder().decode(hexToBytes(hex))

export const createWitness: Contract = {
  validate({ state, parameters }, message) {
    const owner = textOf(message, 'owner_address')
    if (!isAddressHex(owner)) throw invalid('Invalid address')
    if (!isUrl(textOf(message, 'url'))) throw invalid('Invalid url')
    const account = accountOf(state, owner)
    if (!account) throw invalid(`account[${owner}] not exists`)
    if (candidateOf(state, owner)) throw invalid(`Witness[${owner}] has existed`)
    if (account.balance < BigInt(parameters.getAccountUpgradeCost))
      throw invalid('balance < AccountUpgradeCost')
  },

  execute({ state, parameters }, message) {
    const account = requireAccount(state, textOf(message, 'owner_address'))
    const fee = BigInt(parameters.getAccountUpgradeCost)
    const changed = { ...account, is_witness: true }
    addCandidate(state, account.address, utf8(textOf(message, 'url')), 0n)
    const { witness } = permissionsOf({ address: account.address, is_witness: true })
    writeAccount(
      state,
      account.permissions
        ? { ...changed, permissions: { ...account.permissions, witness: witness! } }
        : changed,
    )
    burn(state, account.address, fee)
    return { fee_sun: fee }
  },
}

export const updateWitness: Contract = {
  validate({ state }, message) {
    const owner = textOf(message, 'owner_address')
    if (!isAddressHex(owner)) throw invalid('Invalid address')
    if (!accountOf(state, owner)) throw invalid('account does not exist')
    if (!isUrl(textOf(message, 'update_url'))) throw invalid('Invalid url')
    if (!candidateOf(state, owner)) throw invalid('Witness does not exist')
  },

  execute({ state }, message) {
    const candidate = candidateOf(state, textOf(message, 'owner_address'))!
    state.write('candidate', candidate.address, {
      ...candidate,
      url: utf8(textOf(message, 'update_url')),
    })
    return { fee_sun: 0n }
  },
}

function readVotes(message: Message): Vote[] {
  return ((message.votes ?? []) as Message[]).map((vote) => ({
    address: textOf(vote, 'vote_address'),
    count: integerOf(vote, 'vote_count'),
  }))
}

function checkVote(state: View, { address, count }: Vote): void {
  if (!isAddressHex(address)) throw invalid('Invalid vote address!')
  if (count <= 0n) throw invalid('vote count must be greater than 0')
  if (!accountOf(state, address)) throw invalid(`Account[${address}] not exists`)
  if (!candidateOf(state, address)) throw invalid(`Witness[${address}] not exists`)
}

export const vote: Contract = {
  validate({ state }, message) {
    const owner = textOf(message, 'owner_address')
    if (!isAddressHex(owner)) throw invalid('Invalid address')
    const votes = readVotes(message)
    if (votes.length === 0) throw invalid('VoteNumber must more than 0')
    if (votes.length > VOTES_MAX) throw invalid(`VoteNumber more than maxVoteNumber ${VOTES_MAX}`)
    for (const one of votes) checkVote(state, one)
    const account = accountOf(state, owner)
    if (!account) throw invalid(`Account[${owner}] not exists`)
    const sun = votes.reduce((sum, { count }) => sum + count, 0n) * SUN_PER_TRX
    if (sun > INT64_MAX) throw invalid('overflow: checkedMultiply')
    const power = tronPower(account)
    if (sun > power)
      throw invalid(`The total number of votes[${sun}] is greater than the tronPower[${power}]`)
  },

  execute({ state }, message) {
    const account = withEarnings(state, requireAccount(state, textOf(message, 'owner_address')))
    writeAccount(state, withVotes(state, account, readVotes(message)))
    return { fee_sun: 0n }
  },
}

export const updateBrokerage: Contract = {
  validate({ state }, message) {
    const owner = textOf(message, 'owner_address')
    const brokerage = integerOf(message, 'brokerage')
    if (!isAddressHex(owner)) throw invalid('Invalid ownerAddress')
    if (brokerage < 0n || brokerage > 100n) throw invalid('Invalid brokerage')
    if (!candidateOf(state, owner)) throw invalid(`Not existed witness:${owner}`)
  },

  execute({ state }, message) {
    const candidate = candidateOf(state, textOf(message, 'owner_address'))!
    state.write('candidate', candidate.address, {
      ...candidate,
      brokerage: Number(integerOf(message, 'brokerage')),
    })
    return { fee_sun: 0n }
  },
}
