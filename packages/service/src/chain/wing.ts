// The chain: what is followed, signed and sent, and what receivers are.

import type { Address } from 'penstock-tron/address.ts'
import type { Sql } from '../platform/database/sql.ts'
import type { Common } from '../platform/wing.ts'
import { emptyBytesStep } from './follow/attempt_bytes.ts'
import { judgeStep, sendStep, signStep } from './follow/attempts.ts'
import { pruneStep } from './follow/blocks.ts'
import { confirmStep } from './follow/confirm.ts'
import { READ_STEPS } from './follow/cursors.ts'
import { followStep } from './follow/follower.ts'
import type { Node } from './node/node.ts'
import type { FollowedBlocks } from './reads/followed.ts'
import type { Reads } from './reads/reads.ts'
import { followedBlocks } from './receivers/followed_blocks.ts'
import { receiverReader } from './receivers/receivers.ts'
import type { SignatureLog } from './signing/signature_log.ts'
import { localSigner } from './signing/signer.ts'
import { forgetAmountsStep } from './signing/signing_amounts.ts'
import { archiveStep } from './transfers/archiving.ts'
import type { TransferArchive } from './transfers/transfer_archive.ts'
import type { KeyFindings } from './wallets/permissions.ts'
import { signingTerms } from './wallets/signing_terms.ts'
import { ownAddresses, type Wallets } from './wallets/wallet_file.ts'
import { walletWatch } from './wallets/wallet_watch.ts'

/** What holds the hot keys. */
export type KeyRules = {
  /** Sign although a key can do more than its line. */
  allow_wide_keys: boolean
  /** What the start has found about them; left out: the first run of a step finds it. */
  found?: KeyFindings
  /** Whether this machine was told to sign nothing; left out: it never is. */
  stopped_here?: () => boolean
}

export type ChainSetup = {
  node: Node
  /** How customers' calls ask the chain; left out: the node, without a limit. */
  reads?: Reads
  /** What is known of the blocks that are followed; left out: read from the database. */
  followed?: FollowedBlocks
  /** A connection of the follower's own: when it is late, everything that is sold is refused. */
  follow_sql?: Sql
  wallets: Wallets
  /** What was signed before, on disk. */
  signed: SignatureLog
  keys: KeyRules
  /** Where transfers of older blocks can be moved; left out: they stay in PostgreSQL. */
  archive?: TransferArchive | undefined
  /** TRC20 contracts whose events are read. */
  tokens: ReadonlySet<Address>
}

export const CHAIN_STEPS = {
  ...READ_STEPS,
  follow: 'Stores the next blocks, marks our transactions in them, and takes a fork back',
  confirm: 'Asks a second node whether solid blocks are what the first one said',
  check_wallets: 'Compares what keys may do, and what wallets have staked, with their lines',
  sign: 'Signs what was asked for, and stores the bytes before anything is sent',
  forget_amounts: 'Forgets what was signed so long ago that no limit looks at it',
  send: 'Sends what is signed, again and again, until a block has it',
  judge: 'Finds transactions that no block can have any more',
  empty_bytes: 'Empties the bytes of our transactions that are solid for 30 days',
  prune: 'Forgets blocks that every reader has passed long ago',
  archive_transfers: 'Moves the transfers of older blocks to ClickHouse, where that was begun',
}
declare module '../platform/steps/step.ts' {
  interface StepNames extends Record<keyof typeof CHAIN_STEPS, string> {}
}

export function chainWing({
  reads = () => setup.node,
  ...setup
}: Common & ChainSetup & { is_barred: (address: Address) => Promise<boolean> }) {
  const { api_sql, sql, steps_sql, follow_sql = steps_sql, clock, node, tokens, wallets } = setup
  const { archive } = setup
  const { found, allow_wide_keys, stopped_here = () => false } = setup.keys
  const keys = { wallets, allow_wide_keys, stopped_here, found }
  const watch = walletWatch({ sql, clock, node, log: setup.log, ...keys })
  const { isStopped, stakes } = watch
  const signing = { sql, clock, log: setup.signed, isStopped, stakes, stopped_here }
  const sign = localSigner(wallets, signing)
  const { followed = followedBlocks({ sql: api_sql, clock }), is_barred } = setup
  const ours = ownAddresses(wallets)
  const sending = { sql: steps_sql, clock, node, sign, log: setup.log }
  return {
    steps: [
      followStep({ sql: follow_sql, clock, node, tokens }),
      confirmStep({ sql: steps_sql, clock, node, tokens }),
      watch.step,
      signStep(sending),
      sendStep(sending),
      judgeStep(sending),
      pruneStep({ sql }),
      emptyBytesStep({ sql, clock }),
      forgetAmountsStep({ sql, clock }),
      ...(archive ? [archiveStep({ sql, clock, archive })] : []),
    ],
    reads,
    sign,
    /** What this process signs with; null: with nothing. */
    signingTerms: () => signingTerms(wallets, stakes()),
    receiver: receiverReader({ clock, node, reads, is_barred, followed, ours }),
  }
}
