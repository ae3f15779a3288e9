// What the chain says that a hot key may do. A key on a server may do what its line in the file of
// wallets says and nothing else, by no permission of any account of ours: not as one of its owners,
// not as its witness, not by another active permission.

import type { Address } from 'penstock-tron/address.ts'
import { ContractType } from 'penstock-tron/contracts.ts'
import { addressOf } from 'penstock-tron/keys.ts'
import type { AccountState, Node, Permission } from '../node/node.ts'
import type { Wallet } from '../signing/signer.ts'

export const KINDS = ['pool', 'activation', 'refund', 'votes'] as const
export type Kind = (typeof KINDS)[number]

/** The contract types that each kind of hot key needs. */
export const NEEDED: Readonly<Record<Kind, readonly string[]>> = {
  pool: ['DelegateResourceContract', 'UnDelegateResourceContract'],
  activation: ['AccountCreateContract'],
  refund: ['TransferContract'],
  votes: ['VoteWitnessContract', 'WithdrawBalanceContract'],
}

export type OwnWallets = {
  pool: readonly Wallet[]
  activation: Wallet
  refund?: Wallet | undefined
  votes?: readonly Wallet[] | undefined
  /** Only watched: no key on a server may move what it has. */
  recharge_address: Address
  /** Where deposits may be collected to. */
  collect_to?: readonly Address[]
}

/** What is wrong with a key. `wide`: it can do more than its line says, or somebody else can. */
export type Complaint = { address: Address; wide: boolean; said: string }

type Line = Wallet & { kind: Kind; hot: Address }

/** What the nodes say: complaints about keys, and what each pool wallet has staked, in sun. */
export type KeyFindings = { complaints: Complaint[]; stakes: ReadonlyMap<Address, bigint> }

/** Asks every node about every account of ours. A complaint by any of them counts, and of stakes
 *  the least; one that does not answer says nothing. Throws Outage when no node answers. */
export async function lookAtKeys(
  node: Pick<Node, 'accountEverywhere'>,
  wallets: OwnWallets,
): Promise<KeyFindings> {
  const lines = linesOf(wallets)
  const addresses = [...new Set([...lines.map((line) => line.address), wallets.recharge_address])]
  const found = await Promise.all(
    addresses.map(async (address) => ({ address, states: await node.accountEverywhere(address) })),
  )
  const complaints = new Map<string, Complaint>()
  const note = (line: Line, wide: boolean, what: string) => {
    const said = `The key for ${line.address} (${line.kind}) ${what}.`
    complaints.set(said, { address: line.address, wide, said })
  }
  for (const line of lines) judge(line, { lines, found }, note)
  const pool = new Set(wallets.pool.map(({ address }) => address))
  const stakes = found
    .filter(({ address }) => pool.has(address))
    .map(
      ({ address, states }) =>
        [address, states.map(stakeOf).reduce((a, b) => (b < a ? b : a))] as const,
    )
  return { complaints: [...complaints.values()], stakes: new Map(stakes) }
}

const stakeOf = ({ staked_sun }: AccountState) => staked_sun.energy + staked_sun.bandwidth

type ConfiguredWallets = {
  lines: readonly Line[]
  found: readonly { address: Address; states: AccountState[] }[]
}

function judge(line: Line, { lines, found }: ConfiguredWallets, note: Note): void {
  if (line.permission_id === 0) {
    note(line, true, 'is one of the owner: it can do everything')
    return
  }
  for (const { address, states } of found) {
    for (const state of states) {
      if (address === line.address) judgeLine(line, state, note)
      judgeOthers(line, { address, state, lines }, note)
    }
  }
}

type Note = (line: Line, wide: boolean, what: string) => void

/** The lines whose key is here: a process without keys has nothing to be asked about. */
function linesOf({ pool, activation, refund, votes = [] }: OwnWallets): Line[] {
  const all: [Kind, Wallet][] = pool.map((wallet) => ['pool', wallet])
  all.push(['activation', activation])
  if (refund) all.push(['refund', refund])
  all.push(...votes.map((wallet): [Kind, Wallet] => ['votes', wallet]))
  return all.flatMap(([kind, wallet]) =>
    wallet.private_key === undefined
      ? []
      : [{ ...wallet, kind, hot: addressOf(wallet.private_key) }],
  )
}

/** Whether the permission of the line is what the line says. */
function judgeLine(line: Line, { permissions }: AccountState, note: Note): void {
  const { kind, hot, permission_id, spare_keys = [] } = line
  const permission = permissions.find((one) => one.id === permission_id)
  const key = permission?.keys.find((one) => one.address === hot)
  if (!permission || !key || key.weight < permission.threshold) {
    note(line, false, `cannot act alone with permission ${permission_id}`)
    return
  }
  const allowed = allowedTypes(permission.operations)
  const needed = NEEDED[kind].map((name) => ContractType.values[name]!)
  const missing = needed.filter((type) => !allowed.includes(type))
  const more = allowed.filter((type) => !needed.includes(type))
  if (missing.length > 0) note(line, false, `lacks contract type ${missing.join(', ')}`)
  if (more.length > 0) note(line, true, `may also use contract type ${more.join(', ')}`)
  for (const { address } of permission.keys) {
    if (address === hot || spare_keys.includes(address)) continue
    note(
      line,
      true,
      `shares permission ${permission_id} with ${address}, which is not among its spare_keys`,
    )
  }
}

type Account = { address: Address; state: AccountState; lines: readonly Line[] }

/** Whether the key is in a permission that no line gives it. */
function judgeOthers(line: Line, { address, state, lines }: Account, note: Note): void {
  const has = (permission: Permission | undefined) =>
    permission?.keys.some((key) => key.address === line.hot)
  if (has(state.owner))
    note(line, true, `is in the owner permission of ${address}: it can do everything there`)
  if (has(state.witness)) note(line, true, `is in the witness permission of ${address}`)
  for (const permission of state.permissions) {
    const given = lines.some(
      ({ address: of, permission_id, hot, spare_keys = [] }) =>
        of === address &&
        permission_id === permission.id &&
        [hot, ...spare_keys].includes(line.hot),
    )
    if (!given && has(permission))
      note(line, true, `is in permission ${permission.id} of ${address} too`)
  }
}

/** The numbers of the contract types that a bitmap allows: bit i%8 of byte i/8. */
export function allowedTypes(operations: string): number[] {
  const bytes = Buffer.from(operations, 'hex')
  return Array.from({ length: bytes.length * 8 }, (_, type) => type).filter(
    (type) => (bytes[type >> 3]! >> (type & 7)) & 1,
  )
}
