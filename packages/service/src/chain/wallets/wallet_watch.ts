// Looks at the permissions of our hot keys on the chain, again and again: a key that was right at
// the start can be made to do more by somebody who has the owner's. Each process looks for itself,
// by its own clock, and believes no row about it: what it found stands in memory, and rows are for
// operators.

import type { Address } from 'penstock-tron/address.ts'
import { type Clock, later } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import type { Node } from '../node/node.ts'
import type { Stakes } from '../signing/signing_limits.ts'
import { type KeyFindings, lookAtKeys, type OwnWallets } from './permissions.ts'

export type Needs = {
  sql: Sql
  clock: Clock
  node: Pick<Node, 'accountEverywhere'>
  log: Log
  wallets: OwnWallets
  /** Sign although a key can do more. */
  allow_wide_keys: boolean
  /** Whether this machine was told to sign nothing. */
  stopped_here: () => boolean
  /** What was found at the start. */
  found?: KeyFindings | undefined
}

export type WalletWatch = {
  step: Step
  /** Whether nothing may be signed for the wallet. */
  isStopped(wallet: Address): boolean
  stakes(): Stakes
}

const LOOK_MS = 3_600_000
/** While something is wrong, or no node answers: it may have been put right. */
const LOOK_AGAIN_MS = 60_000

export function walletWatch(needs: Needs): WalletWatch {
  const { clock, allow_wide_keys } = needs
  let { found } = needs
  /** As the rows have it; undefined: they have nothing yet. */
  let noted_stopped: boolean | undefined
  let look_at = found === undefined ? clock.now() : later(clock, LOOK_MS)
  const wide = () => new Set(found?.complaints.flatMap((one) => (one.wide ? [one.address] : [])))
  const isStopped = (wallet: Address) => !allow_wide_keys && wide().has(wallet)
  return {
    isStopped,
    stakes: () => found?.stakes,
    step: {
      name: 'check_wallets',
      rest_ms: 30_000,
      async run() {
        const stopped_here = needs.stopped_here()
        const is_due = look_at <= clock.now()
        if (is_due) {
          look_at = later(clock, LOOK_AGAIN_MS)
          found = await lookAtKeys(needs.node, needs.wallets)
          if (found.complaints.length === 0) look_at = later(clock, LOOK_MS)
          for (const { said } of found.complaints) needs.log('wallet_key', { complaint: said })
        }
        if (found && (is_due || stopped_here !== noted_stopped)) await note(needs, found, isStopped)
        noted_stopped = stopped_here
        return false
      },
    },
  }
}

/** For operators: what was found about the wallets whose keys are here. */
async function note(
  { sql, clock, wallets, stopped_here }: Needs,
  { complaints }: KeyFindings,
  isStopped: (wallet: Address) => boolean,
): Promise<void> {
  const { pool, activation, refund, votes = [] } = wallets
  const mine = [...pool, activation, ...(refund ? [refund] : []), ...votes].filter(
    (one) => one.private_key !== undefined,
  )
  const addresses = [...new Set(mine.map(({ address }) => address))]
  const rows = addresses.map((address) => ({
    address,
    stopped: isStopped(address),
    complaints: complaints.filter((one) => one.address === address).map(({ said }) => said),
  }))
  const now = clock.now()
  await sql`
    insert into wallet_check (address, checked_at, complaints, stopped, stopped_here)
    select address, ${now}, array(select jsonb_array_elements_text(complaints)),
      stopped, ${stopped_here()}
    from unnest(${rows.map((one) => one.address)}::text[],
                ${rows.map((one) => JSON.stringify(one.complaints))}::jsonb[],
                ${rows.map((one) => one.stopped)}::boolean[]) as t (address, complaints, stopped)
    on conflict (address) do update set checked_at = excluded.checked_at,
      complaints = excluded.complaints,
      stopped = excluded.stopped, stopped_here = excluded.stopped_here`
}

/** What was found about the key of a wallet when a process that has it last looked. */
export type WalletCheck = {
  checked_at: Date
  complaints: string[]
  /** Nothing is signed for it: its key can do more than it should. */
  stopped: boolean
  /** A file on the machine that signs stops all signing there. */
  stopped_here: boolean
}

/** Undefined: no process has looked at it. */
export async function findWalletCheck(sql: Sql, address: string): Promise<WalletCheck | undefined> {
  const [row] = await sql<WalletCheck>`
    select checked_at, complaints, stopped, stopped_here from wallet_check
    where address = ${address}`
  return row
}
