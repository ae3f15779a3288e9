// No body with a secret in it is kept. An endpoint says itself that what of its body fits its
// schema may be kept when a call is refused; one that takes something secret must not.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Endpoint, endpoint } from 'penstock-service/platform/wire/endpoint.ts'
import { type TSchema, Type } from 'typebox'
import { makeWorld } from '../harness/world.ts'

/** What a field is called whose value signs somebody in, or proves who somebody is. */
const SECRET = /passw|passphrase|passkey|code|offer|secret|token|seed|recovery|private|totp|cookie/

type Shape = TSchema & { properties?: Record<string, TSchema>; items?: TSchema; anyOf?: TSchema[] }

function namesOf({ properties = {}, items, anyOf = [] }: Shape): string[] {
  const inner = [...Object.values(properties), ...(items ? [items] : []), ...anyOf]
  return [...Object.keys(properties), ...inner.flatMap(namesOf)]
}

const takesSecret = ({ body }: Endpoint) => namesOf(body).some((name) => SECRET.test(name))

/** Those that keep what they must not. */
const wrong = (endpoints: readonly Endpoint[]): string[] =>
  endpoints
    .filter((one) => one.keeps_body && (takesSecret(one) || !one.path.startsWith('/v1/')))
    .map(({ path }) => path)

test('no endpoint keeps bodies that have a secret in them', async (t) => {
  const { app } = await makeWorld(t)
  const all = [...app.endpoints, ...app.mounts.flatMap(({ endpoints }) => endpoints)]
  assert.ok(all.filter(({ keeps_body }) => keeps_body).length > 40)
  const secret = all.filter(takesSecret).map(({ path }) => path)
  for (const path of ['/session/totp', '/session/password', '/session/recovery', '/session/join'])
    assert.ok(secret.includes(path), path)
  assert.ok(secret.includes('/v1/pairing/take'))
  assert.deepEqual(wrong(all), [])
})

test('such an endpoint is found, wherever in the body its secret is', () => {
  const keeping = (path: `/${string}`, body: Parameters<typeof Type.Object>[0]) =>
    endpoint({
      path,
      auth: 'public',
      keeps_body: true,
      summary: 'A test',
      body: Type.Object(body),
      reply: Type.Object({}),
      faults: [],
      handle: async () => ({}),
    })
  const inner = Type.Object({ new_password: Type.String() })
  const listed = [
    keeping('/v1/plain', { address: Type.String() }),
    keeping('/v1/deep', { params: Type.Object({ list: Type.Array(inner) }) }),
    keeping('/session/plain', { name: Type.String() }),
  ]
  assert.deepEqual(wrong(listed), ['/v1/deep', '/session/plain'])
})
