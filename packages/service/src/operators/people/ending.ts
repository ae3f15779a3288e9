// Ends what belongs to a key or a user that an operator ends: open invitations always, and all that
// it has made when that is asked for.

import type { Action } from '../../ledger/accounts/actions.ts'
import { endAll } from '../../market/subscriptions/ending.ts'
import type { Creations, MakerEnd } from '../../people/keys/made.ts'
import { endMade } from '../../people/users/eviction.ts'
import type { Tx } from '../../platform/database/sql.ts'
import { flag } from '../../platform/wire/schemas.ts'

export const WITH_MADE = flag('end what it has made, too, and what that has made')

/** Ends that much. Its caller ends the key or the user itself, in the same transaction. */
export async function endWithMade(
  tx: Tx,
  end: MakerEnd,
): Promise<{ made: Creations; ended_subscriptions: number; actions: Action[] }> {
  const needs = { endSubscriptions: endAll }
  const { ended, ...report } = await endMade(tx, needs, undefined, end)
  const actions = ended.map(({ subject, before, after }) => ({ subject, before, after }))
  return { ...report, actions }
}

/** A sentence about what is still there of what was made; nothing where nothing is. */
export function leftOf({ keys, users, webhooks }: Creations): string {
  const left = [...keys, ...users, ...webhooks].filter(({ ended }) => !ended).length
  return left === 0 ? '' : ` What it has made is still there (${left}): --with-made ends that, too.`
}
