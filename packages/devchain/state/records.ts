// The records that the state is made of. None is ever modified: a change writes a new one.
// Addresses are 42 hexadecimal characters, sums are sun, weights whole TRX.

import type { Message } from 'penstock-tron/protobuf.ts'

export type Resource = 'BANDWIDTH' | 'ENERGY'

/** Units used as of a slot, and the window over which they fade: slots, or thousandths of one when
 *  optimized. */
export type Usage = {
  readonly amount: number
  readonly slot: number
  readonly window: number
  readonly optimized: boolean
}

export type StakeType = Resource | 'TRON_POWER'

export type Permission = {
  readonly type: 'Owner' | 'Witness' | 'Active'
  readonly id: number
  readonly name: string
  readonly threshold: bigint
  /** 64 hexadecimal characters, one bit for each contract type; active permissions only. */
  readonly operations: string
  readonly keys: readonly { readonly address: string; readonly weight: bigint }[]
}

export type Permissions = {
  readonly owner: Permission
  readonly witness?: Permission
  readonly actives: readonly Permission[]
}

export type Unfreezing = {
  readonly resource: StakeType
  readonly sun: bigint
  readonly expires_at_ms: number
}

/** Votes of an account for a witness, each of 1 TRX of stake. */
export type Vote = { readonly address: string; readonly count: bigint }

export type Account = {
  /** 42 hexadecimal characters. */
  readonly address: string
  /** Bytes of text in hexadecimal; both are set once. */
  readonly name?: string
  readonly id?: string
  readonly votes?: readonly Vote[]
  /** Earned and not withdrawn, as of when its votes were last counted; absent: nothing. */
  readonly allowance?: bigint
  readonly withdrew_at_ms?: number
  /** From which cycle on its votes are to be counted, and until the end of which one those count
   *  that it had then; absent: it has never voted. */
  readonly counted?: {
    readonly begin: bigint
    readonly end: bigint
    readonly votes: readonly Vote[] | undefined
  }
  readonly type: 'Normal' | 'Contract'
  readonly balance: bigint
  readonly created_at_ms: number
  readonly operated_at_ms: number
  readonly is_witness: boolean
  readonly net: Usage
  readonly energy: Usage
  readonly free_net: { readonly amount: number; readonly slot: number }
  readonly frozen: { readonly [Type in StakeType]: bigint }
  readonly delegated: { readonly [Type in Resource]: bigint }
  readonly acquired: { readonly [Type in Resource]: bigint }
  readonly unfreezing: readonly Unfreezing[]
  /** TRC10 balances by token id; absent: never held. */
  readonly assets?: { readonly [id: string]: bigint }
  /** The id of the TRC10 token that it issued, and what it holds back of its supply. */
  readonly asset_issued?: string
  readonly frozen_supply?: readonly { readonly amount: bigint; readonly expires_at_ms: number }[]
  /** Absent: the default ones, of the account's own key alone. */
  readonly permissions?: Permissions
}

/** The sun that one account delegates to another, unlocked or locked; times are milliseconds, 0 for
 *  none. */
export type Delegation = {
  readonly from: string
  readonly to: string
  readonly sun: { readonly BANDWIDTH: bigint; readonly ENERGY: bigint }
  readonly expires_at_ms: { readonly BANDWIDTH: number; readonly ENERGY: number }
}

/** Somebody who may be voted for. Votes count at the next maintenance. */
export type Candidate = {
  readonly address: string
  readonly url: string
  readonly votes: bigint
  /** The value of `votes` from then on. */
  readonly next_votes: bigint
  /** The share of the rewards that the candidate keeps, in per cent. */
  readonly brokerage: number
  /** The value of `brokerage` that this cycle is paid by. */
  readonly paid_brokerage: number
}

/** With whom an account has delegations, in the order of the last delegation of each pair. */
export type Partners = { readonly from: readonly string[]; readonly to: readonly string[] }

/** Sums over all accounts. Weights are TRX; `rest_*` stand for stakes of accounts that this chain
 *  does not have. */
export type Totals = {
  readonly net_weight: bigint
  readonly energy_weight: bigint
  readonly rest_net_weight: bigint
  readonly rest_energy_weight: bigint
  readonly burned_sun: bigint
  readonly issued_sun: bigint
  /** How many maintenances there were. */
  readonly reward_cycle: bigint
}

/** A TRC20 token. Amounts are in its smallest unit, the factor of its energy penalty in
 *  ten-thousandths. */
export type Token = {
  readonly address: string
  readonly name: string
  readonly symbol: string
  readonly decimals: number
  readonly owner: string
  readonly total_supply: bigint
  readonly paused: boolean
  readonly factor: number
  /** The factor stays as it is, as if the rest of the network kept the contract busy. */
  readonly held: boolean
  /** Energy used in `cycle`, without penalty; cycles are the times between maintenances, counted
   *  from 1. */
  readonly energy_used: number
  readonly cycle: number
}

/** A contract for tests: see sample_contract.ts. TRX sent to it are divided among its receivers. */
export type SampleContract = {
  readonly address: string
  readonly owner: string
  readonly receivers: readonly string[]
}

/** A TRC10 token: the message that issued it, brought up to date, and its id in digits. */
export type Asset = Message & { readonly id: string }

/** The kinds of records, each under a text key: addresses are 42 hexadecimal characters. */
export type Tables = {
  account: Account
  delegation: Delegation
  partners: Partners
  totals: Totals
  token: Token
  sample: SampleContract
  asset: Asset
  candidate: Candidate
  /** Under a cycle and a witness: what one vote for it has earned up to the end of that cycle. */
  earned: bigint
  /** Addresses: of all candidates (under ''), of who has a name or an id (under "name:" or "id:"
   *  and its bytes). Under "assets": the ids of all TRC10 tokens. */
  register: readonly string[]
  /** The storage of tokens: balances, allowances, freeze lists; zero is not kept. */
  slot: bigint
}
