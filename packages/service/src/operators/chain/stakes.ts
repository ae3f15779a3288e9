// Changes of what a wallet has staked: prepared here, signed with the key of its owner, and sent,
// as updates of permissions are.

import type { Address } from 'penstock-tron/address.ts'
import { Type } from 'typebox'
import type { AccountState, Node, Resource } from '../../chain/node/node.ts'
import { stakeBytes } from '../../chain/wallets/stake.ts'
import { misuse, refusal } from '../../lib/fault.ts'
import { SUN_PER_TRX, trxText } from '../../lib/json.ts'
import { poolWallets } from '../../market/pool/figures.ts'
import {
  address,
  Count,
  ListOf,
  Moment,
  NOTHING,
  oneOf,
  Sun,
  sun,
  Text,
  Whole,
} from '../../platform/wire/schemas.ts'
import { local, look } from '../table/operation.ts'
import { carry, hours, OUT, PreparedUpdate, prepared, updateText } from './carried.ts'

/** How many times an account may unstake before the first of them has come out. */
const LEAVING_MAX = 32

const RESOURCE = oneOf(['energy', 'bandwidth'], 'what it is staked for')
const BODY = { address: address('the wallet'), hours }
const cli = {
  extras: OUT,
  node: 'plain' as const,
  text: updateText,
}

/** The amount that was typed. Throws misuse unless it is whole TRX. */
function wholeTrx(amount_sun: number, words: string): bigint {
  const amount = BigInt(amount_sun)
  if (amount > 0n && amount % SUN_PER_TRX === 0n) return amount
  throw misuse(`${words}: AMOUNT is a whole number of TRX, 1 or more.`)
}

/** The account as the nodes have it. Throws Refused when there is none. */
async function accountAt(node: Node, of: Address): Promise<AccountState> {
  const account = await node.account(of)
  if (!account.active) throw refusal(`${of} is not active on the chain.`)
  return account
}

/** Stakes on their way back that have come out by the time of the chain, and those that have
 *  not. */
async function leavingOf(node: Node, { leaving }: AccountState) {
  const { time } = await node.head()
  const out = leaving.filter(({ until }) => until <= time)
  return { out, waiting: leaving.filter(({ until }) => until > time) }
}

const sumOf = (list: AccountState['leaving']) => list.reduce((total, { sun }) => total + sun, 0n)

/** Throws Refused where so much is not free to be unstaked. */
async function requireUnstakable(
  node: Node,
  of: Address,
  { amount, resource }: { amount: bigint; resource: Resource },
): Promise<void> {
  const account = await accountAt(node, of)
  const free_sun = account.free_stake_sun[resource]
  if (free_sun < amount) {
    const out_sun = account.staked_sun[resource] - free_sun
    throw refusal(
      `${of} has ${trxText(free_sun)} TRX staked for ${resource} that are not delegated, and ` +
        `${trxText(out_sun)} that are.`,
    )
  }
  const { waiting } = await leavingOf(node, account)
  if (waiting.length >= LEAVING_MAX)
    throw refusal(`${of} is unstaking ${LEAVING_MAX} times already: one must come out first.`)
}

const LEAVING = { resource: Text, sun: Sun, until: Moment }

export const stakeOperations = [
  local({
    path: '/operator/wallets/stake',
    summary: 'prepare the transaction that stakes TRX of a wallet for energy or bandwidth',
    description: 'Nothing is sent. It is signed by wallets sign, with the key of the owner.',
    body: Type.Object({
      ...BODY,
      amount_sun: sun('AMOUNT', 'TRX to stake, whole'),
      resource: RESOURCE,
    }),
    reply: Type.Object(PreparedUpdate),
    cli: {
      ...cli,
      operands: ['address', 'amount_sun'],
      after: (answer, { file }, terminal) => carry(answer, file, terminal),
    },
    async handle({ body: { amount_sun, resource, hours, ...body }, ...needs }) {
      const node = needs.node()
      const address = body.address as Address
      const amount = wholeTrx(amount_sun, 'wallets stake')
      const { balance_sun } = await node.account(address)
      if (balance_sun < amount)
        throw refusal(`${address} has ${trxText(balance_sun)} TRX that are not staked.`)
      const change = { change: 'stake' as const, address, amount_sun: amount, resource }
      return prepared(node, hours, (valid) => stakeBytes(change, valid))
    },
  }),
  local({
    path: '/operator/wallets/unstake',
    summary: 'prepare the transaction that begins to take staked TRX of a wallet back',
    description:
      'Nothing is sent. What is delegated cannot be taken back. It comes out after 14 days, and ' +
      '32 such amounts may be under way at once: pool stakes shows them.',
    body: Type.Object({
      ...BODY,
      amount_sun: sun('AMOUNT', 'TRX to take back, whole'),
      resource: RESOURCE,
    }),
    reply: Type.Object(PreparedUpdate),
    cli: {
      ...cli,
      operands: ['address', 'amount_sun'],
      after: (answer, { file }, terminal) => carry(answer, file, terminal),
    },
    async handle({ body: { amount_sun, resource, hours, ...body }, ...needs }) {
      const node = needs.node()
      const address = body.address as Address
      const amount = wholeTrx(amount_sun, 'wallets unstake')
      await requireUnstakable(node, address, { amount, resource })
      const change = { change: 'unstake' as const, address, amount_sun: amount, resource }
      return prepared(node, hours, (valid) => stakeBytes(change, valid))
    },
  }),
  local({
    path: '/operator/wallets/withdraw',
    summary: 'prepare the transaction that moves what was unstaked and has come out to the balance',
    description: 'Nothing is sent. It is signed by wallets sign, with the key of the owner.',
    body: Type.Object(BODY),
    reply: Type.Object(PreparedUpdate),
    cli: {
      ...cli,
      operands: ['address'],
      after: (answer, { file }, terminal) => carry(answer, file, terminal),
    },
    async handle({ body: { hours, ...body }, ...needs }) {
      const node = needs.node()
      const address = body.address as Address
      const { out, waiting } = await leavingOf(node, await accountAt(node, address))
      if (out.length === 0) {
        const next = waiting.toSorted((a, b) => a.until.getTime() - b.until.getTime())[0]
        const when = next ? `, the next will have on ${next.until.toISOString()}` : ''
        throw refusal(`Nothing that ${address} has unstaked has come out${when}.`)
      }
      const change = { change: 'withdraw' as const, address }
      return prepared(node, hours, (valid) => stakeBytes(change, valid))
    },
  }),
  local({
    path: '/operator/wallets/cancel-unstake',
    summary: 'prepare the transaction that stakes again all that a wallet is taking back',
    description: 'Nothing is sent. It is signed by wallets sign, with the key of the owner.',
    body: Type.Object(BODY),
    reply: Type.Object(PreparedUpdate),
    cli: {
      ...cli,
      operands: ['address'],
      after: (answer, { file }, terminal) => carry(answer, file, terminal),
    },
    async handle({ body: { hours, ...body }, ...needs }) {
      const node = needs.node()
      const address = body.address as Address
      const { leaving } = await accountAt(node, address)
      if (leaving.length === 0) throw refusal(`${address} is taking nothing back.`)
      const change = { change: 'cancel-unstake' as const, address }
      return prepared(node, hours, (valid) => stakeBytes(change, valid))
    },
  }),
]

export const poolStakeOperations = [
  look({
    path: '/operator/pool/stakes',
    summary: 'what each wallet of the pool has staked, delegated, free and on its way back',
    description:
      'As a node has it now. `leaving` comes out at `until`; `out_sun` has, and wallets withdraw ' +
      'moves it to the balance. `leaving_left`: how many more times it can unstake.',
    body: NOTHING,
    reply: Type.Object({
      wallets: ListOf({
        address: Text,
        balance_sun: Sun,
        staked_energy_sun: Sun,
        free_energy_sun: Sun,
        staked_bandwidth_sun: Sun,
        free_bandwidth_sun: Sun,
        out_sun: Sun,
        leaving_sun: Sun,
        leaving_left: Count,
        votes: Whole,
        power: Whole,
        reward_sun: Sun,
      }),
      leaving: ListOf({ address: Text, ...LEAVING }),
    }),
    cli: { node: 'plain' },
    async handle({ sql, ...needs }) {
      const node = needs.node()
      const addresses = [...new Set((await poolWallets(sql)).map((one) => one.address))]
      const found = await Promise.all(
        addresses.map(async (of) => {
          const address = of as Address
          const account = await node.account(address)
          const { out, waiting } = await leavingOf(node, account)
          const { staked_sun, free_stake_sun } = account
          const wallet = {
            address,
            balance_sun: account.balance_sun,
            staked_energy_sun: staked_sun.energy,
            free_energy_sun: free_stake_sun.energy,
            staked_bandwidth_sun: staked_sun.bandwidth,
            free_bandwidth_sun: free_stake_sun.bandwidth,
            out_sun: sumOf(out),
            leaving_sun: sumOf(waiting),
            leaving_left: LEAVING_MAX - waiting.length,
            votes: account.votes.reduce((sum, { count }) => sum + count, 0n),
            power: (staked_sun.energy + staked_sun.bandwidth) / SUN_PER_TRX,
            reward_sun: await node.reward(address),
          }
          return { wallet, leaving: waiting.map((one) => ({ address, ...one })) }
        }),
      )
      const leaving = found
        .flatMap((one) => one.leaving)
        .sort((a, b) => a.until.getTime() - b.until.getTime())
      return { value: { wallets: found.map(({ wallet }) => wallet), leaving } }
    },
  }),
]
