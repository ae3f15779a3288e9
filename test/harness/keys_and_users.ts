// Customers alpha and beta with keys and users, on rows alone, and those who ask by them. The time
// stands still.

import type { IncomingHttpHeaders } from 'node:http'
import type { TestContext } from 'node:test'
import { Fault } from 'penstock-service/lib/fault.ts'
import { idMaker, systemRandom } from 'penstock-service/lib/ids.ts'
import { issueKey, lockKey, type NewKey } from 'penstock-service/people/keys/keys.ts'
import { forgetProofs } from 'penstock-service/people/sign_in/joining.ts'
import { portalFace } from 'penstock-service/people/users/faces.ts'
import { scopesOfRole } from 'penstock-service/people/users/roles.ts'
import { inviteUser, type NewUser } from 'penstock-service/people/users/users.ts'
import type { Tx } from 'penstock-service/platform/database/sql.ts'
import { sealWith } from 'penstock-service/platform/seal/seal.ts'
import type { Customer, Endpoint } from 'penstock-service/platform/wire/endpoint.ts'
import { makeCustomer } from './customer_rows.ts'
import { freshDatabase } from './database.ts'
import { CALLER } from './endpoint_calls.ts'

export const NOW = new Date('2026-10-08T15:26:32Z')
const clock = { now: () => NOW }
const seal = sealWith({ current: 'a', keys: { a: new Uint8Array(32).fill(1) } }, systemRandom)

export async function withKeysAndUsers(t: TestContext) {
  const { sql } = await freshDatabase(t)
  for (const id of ['alpha', 'beta']) await sql.begin((tx) => makeCustomer(tx, { id, at: NOW }))
  const needs = {
    sql,
    clock,
    random: systemRandom,
    new_id: idMaker(clock, systemRandom),
    seal,
    forgetProofs,
    face: portalFace('https://pages.example'),
  }
  const begin = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => sql.begin(work)
  const issue = async (more: Partial<NewKey> = {}) => {
    const wanted = { customer_id: 'alpha', name: 'key', ...more }
    return (await begin((tx) => issueKey(tx, needs, wanted))).key_id
  }
  /** A user; `joined`: and one who has followed the link. */
  const invite = async (more: Partial<NewUser & { joined: boolean }> = {}) => {
    const { joined = true, ...rest } = more
    const wanted = { customer_id: 'alpha', name: 'Anna', role: 'owner', invited_by: 'x', ...rest }
    const { id } = await begin((tx) => inviteUser(tx, needs, wanted))
    if (joined) await sql`update service_user set joined_at = ${NOW} where id = ${id}`
    return id
  }
  const keyOf = async (id: string) => (await begin((tx) => lockKey(tx, id)))!
  /** By which key a call is refused; undefined: it is not. */
  const refusal = (work: (tx: Tx) => Promise<unknown>): Promise<string | undefined> =>
    begin(work).then(
      () => undefined,
      (thrown: unknown) => {
        if (!(thrown instanceof Fault)) throw thrown
        return thrown.key
      },
    )
  return { sql, needs, begin, issue, invite, keyOf, refusal }
}

/** One of alpha's who asks by a key; `role`: a user of that role, whose key it is. */
export const asks = (key_id: string, role?: string, customer_id = 'alpha'): Customer => ({
  ...CALLER,
  customer_id,
  key_id,
  user:
    role === undefined
      ? undefined
      : {
          user_id: key_id,
          session_id: 'session',
          name: 'Anna',
          sign_in_name: null,
          role,
          scopes: scopesOfRole(role),
          stepped_up_until: null,
        },
})

/** Calls endpoints as the server does once it knows who asks. */
export const callerOf =
  (endpoints: readonly Endpoint[], headers: IncomingHttpHeaders = {}) =>
  async <Reply>(customer: Customer, path: string, body: object = {}): Promise<Reply> => {
    const endpoint = endpoints.find((one) => one.path === path)!
    const asked = { customer, headers, ip: '192.0.2.1', request_id: 'request', reply_headers: {} }
    const read = endpoint.read!(body as never)
    return (await endpoint.handle({ ...asked, body: read })) as Reply
  }
