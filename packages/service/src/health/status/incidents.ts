// What the operator tells everybody of outages, in his own words, and what of the status page is
// not shown. What is posted stays for good: it can be closed, not taken back.
//
//   (posted) -> open (updated) -> closed

import { Type } from 'typebox'
import type { Change } from '../../ledger/accounts/actions.ts'
import { misuse, refusal } from '../../lib/fault.ts'
import type { Query, Sql, Tx } from '../../platform/database/sql.ts'
import { type RowOf, row } from '../../platform/wire/row.ts'
import { Moment, OrNull, Text } from '../../platform/wire/schemas.ts'
import { PARTS, type Part } from '../uptime/states.ts'

export const Incident = row({
  id: Text,
  title: Text,
  what: Text,
  parts: Type.Array(Text),
  began_at: Moment,
  posted_at: Moment,
  closed_at: OrNull(Moment),
  outcome: OrNull(Text),
})
export type Incident = RowOf<typeof Incident>

export type NewIncident = Pick<Incident, 'id' | 'title' | 'what' | 'parts' | 'began_at'>

const TITLE_LENGTH_MAX = 120
const TEXT_LENGTH_MAX = 2_000

/** -> open. Throws Misuse when a text is empty or too long, or a part is none of ours. */
export async function postIncident(
  tx: Tx,
  incident: NewIncident,
  at: Date,
): Promise<Change<Incident>> {
  const { id, title, what, began_at } = incident
  requireText('The title', title, TITLE_LENGTH_MAX)
  requireText('What is told', what, TEXT_LENGTH_MAX)
  if (began_at > at) throw misuse('An incident cannot begin in the future.')
  const parts = PARTS.filter((part) => incident.parts.includes(part))
  const strange = incident.parts.find((part) => !PARTS.includes(part as Part))
  if (strange !== undefined)
    throw misuse(`There is no part ${strange} of the service; there are: ${PARTS.join(', ')}.`)
  const [posted] = await tx<Incident>`
    insert into incident (id, title, what, parts, began_at, posted_at)
    values (${id}, ${title}, ${what}, ${parts}, ${began_at}, ${at}) returning ${Incident.columns}`
  const after = { title, what, parts, began_at }
  return { result: posted!, actions: [{ subject: `incident:${id}`, before: null, after }] }
}

/** Says anew what is told of an open one. Refuses an id that there is not, and one that is
 *  closed. */
export async function updateIncident(
  tx: Tx,
  { id, what }: Pick<Incident, 'id' | 'what'>,
): Promise<Change<Incident>> {
  requireText('What is told', what, TEXT_LENGTH_MAX)
  const before = await lockOpen(tx, id)
  if (what === before.what) return { result: before, actions: [] }
  const [updated] = await tx<Incident>`
    update incident set what = ${what} where id = ${id} returning ${Incident.columns}`
  const action = { subject: `incident:${id}`, before: { what: before.what }, after: { what } }
  return { result: updated!, actions: [action] }
}

async function lockOpen(tx: Tx, id: string): Promise<Incident> {
  const [before] =
    await tx<Incident>`select ${Incident.columns} from incident where id = ${id} for update`
  if (!before) throw refusal(`There is no incident ${id}.`)
  if (before.closed_at !== null)
    throw refusal(`Incident ${id} was closed at ${before.closed_at.toISOString()}.`)
  return before
}

/** open -> closed. Refuses an id that there is not, and one that is closed. */
export async function closeIncident(
  tx: Tx,
  { id, outcome }: { id: string; outcome: string | null },
  at: Date,
): Promise<Change<Incident>> {
  if (outcome !== null) requireText('The outcome', outcome, TEXT_LENGTH_MAX)
  await lockOpen(tx, id)
  const [closed] = await tx<Incident>`
    update incident set closed_at = ${at}, outcome = ${outcome} where id = ${id}
    returning ${Incident.columns}`
  const after = { closed_at: at, outcome }
  const action = { subject: `incident:${id}`, before: { closed_at: null, outcome: null }, after }
  return { result: closed!, actions: [action] }
}

function requireText(what: string, text: string, length_max: number): void {
  if (text.trim() === '') throw misuse(`${what} is empty.`)
  if (text.length > length_max) throw misuse(`${what} has more than ${length_max} characters.`)
  if (/[^\P{Cc}\n\r\t]|\p{Cf}/u.test(text))
    throw misuse(`${what} has characters that hide, or turn what stands around them.`)
}

/** Newest first. */
export const listIncidents = (sql: Query, limit: number): Promise<Incident[]> => sql<Incident>`
  select ${Incident.columns} from incident order by began_at desc, id desc limit ${limit}`

/** Those that are open, and those that were since then, newest first. */
export const recentIncidents = (
  sql: Query,
  { since, limit }: { since: Date; limit: number },
): Promise<Incident[]> => sql<Incident>`
  select ${Incident.columns} from incident where closed_at is null or closed_at >= ${since}
  order by closed_at is null desc, began_at desc, id desc limit ${limit}`

/** Whether everybody sees what the pool can deliver, and what things cost. */
export type StatusPageSettings = { pool_shown: boolean; prices_shown: boolean }

export async function readStatusPage(sql: Sql | Tx): Promise<StatusPageSettings> {
  const [settings] = await sql<StatusPageSettings>`
    select pool_shown, prices_shown from status_page`
  return settings!
}

/** Changes what is given. In force within the seconds for which the page is kept. */
export async function changeStatusPage(
  tx: Tx,
  given: { [Field in keyof StatusPageSettings]?: boolean | undefined },
): Promise<Change<StatusPageSettings>> {
  const [before] = await tx<StatusPageSettings>`
    select pool_shown, prices_shown from status_page for update`
  const { pool_shown = before!.pool_shown, prices_shown = before!.prices_shown } = given
  const after = { pool_shown, prices_shown }
  if (pool_shown === before!.pool_shown && prices_shown === before!.prices_shown)
    return { result: after, actions: [] }
  await tx`update status_page set pool_shown = ${pool_shown}, prices_shown = ${prices_shown}`
  return { result: after, actions: [{ subject: 'status_page', before: before!, after }] }
}
