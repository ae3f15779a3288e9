// What it means that the database did not do something: for the caller, and for the connection.

import pg from 'pg'
import { Outage } from '../../lib/fault.ts'

/** An outage of which it is sure that nothing was done: the same may be tried again. */
export class NothingDone extends Outage {
  override name = 'NothingDone'
}

/** What the server refused for a reason of its own: lost or unavailable connection, no resources,
 *  shutting down, a deadlock or a failed serialization. The statement did not happen and may
 *  succeed later. */
const OUTAGE_CLASSES = new Set(['08', '40', '53', '55', '57', '58'])
/** Likewise: a standby, and prepared statements that another connection would have, or not have. */
const OUTAGE_CODES = new Set(['25006', '26000', '42P05'])
/** What is wrong with the statement, whatever connection it comes by. */
const OWN_CLASSES = new Set(['22', '23', '42', 'P0'])

const classOf = ({ code }: pg.DatabaseError) => code?.slice(0, 2) ?? ''

/** A prepared statement whose columns have changed: it is refused for as long as the connection
 *  lasts, and prepared anew on another one. */
const isPlanGone = ({ code, routine }: pg.DatabaseError) =>
  code === '0A000' && routine === 'RevalidateCachedQuery'

const isPassing = (refused: pg.DatabaseError) =>
  OUTAGE_CLASSES.has(classOf(refused)) ||
  OUTAGE_CODES.has(refused.code ?? '') ||
  isPlanGone(refused)

/** What the driver throws is the server's refusal, a value that it cannot send (a bug), or a
 *  connection that is gone. */
export function asOutage(thrown: unknown): never {
  const refused = thrown instanceof pg.DatabaseError
  const passing = refused && isPassing(thrown)
  const bug = refused ? !passing : thrown instanceof TypeError || thrown instanceof RangeError
  if (bug) throw thrown
  throw new Outage('the database', { cause: thrown })
}

/** Whether the connection is as good as before: only the statement itself was refused. */
export const isOwnRefusal = (thrown: unknown): boolean =>
  thrown instanceof pg.DatabaseError && OWN_CLASSES.has(classOf(thrown)) && !isPassing(thrown)

/** Whether the server itself said no. A connection that it ends says nothing of what was under
 *  way. */
export function isRefusal(thrown: unknown): boolean {
  const said = thrown instanceof Outage ? thrown.cause : thrown
  return said instanceof pg.DatabaseError && !/^(08|57P)/.test(said.code ?? '')
}

/** The same, for a caller who may try again. */
export const withNothingDone = (thrown: unknown): unknown =>
  thrown instanceof Outage ? new NothingDone(thrown.message, { cause: thrown.cause }) : thrown

/** Whether a statement was refused only because one before it in its transaction had failed. */
export const isAfterFailure = (thrown: unknown): boolean =>
  thrown instanceof pg.DatabaseError && thrown.code === '25P02'

/** Why the database did not do it, as the class of SQLSTATE; `none` when there was no answer. */
export const outageClass = ({ cause }: Outage): string =>
  (cause instanceof pg.DatabaseError ? cause.code?.slice(0, 2) : undefined) ?? 'none'

/** The server's word that a commit stands on its own disk alone, because its wait for a standby was
 *  cut short: it may be gone after a fail-over. */
export const isUnreplicated = ({ routine }: { routine?: string | undefined }): boolean =>
  routine === 'SyncRepWaitForLSN'
