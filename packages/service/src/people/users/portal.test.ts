// Endpoints of customers at the portal, where its events go on, and who is shown papers.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asks, withKeysAndUsers } from 'penstock-test/harness/keys_and_users.ts'
import { Type } from 'typebox'
import { endpoint, streamEndpoint } from '../../platform/wire/endpoint.ts'
import { consoleFace } from './faces.ts'
import { paperPage } from './papers.ts'
import { portalMount } from './portal.ts'
import { beginSession, sessionReader } from './sessions.ts'

const description = { summary: 'A call', body: Type.Object({}), faults: [] }
const answer = { ...description, reply: Type.Object({}), handle: async () => ({}) }

test('the portal has what is asked for a customer and answered at once', async (t) => {
  const { sql, needs } = await withKeysAndUsers(t)
  const stays_open = {
    ...description,
    item: Type.Object({}),
    open: async () => (async function* () {})(),
  }
  const endpoints = [
    endpoint({ ...answer, path: '/v1/balance', auth: 'signature', scope: 'read' }),
    endpoint({ ...answer, path: '/v1/prices', auth: 'public' }),
    streamEndpoint({ ...stays_open, path: '/v1/events', scope: 'read' }),
  ]
  const sign_in = [endpoint({ ...answer, path: '/session/begin', auth: 'public' })]
  const opened: (bigint | undefined)[] = []
  const streams = {
    open: async ({ after }: { after?: bigint | undefined }) => {
      opened.push(after)
      return (async function* () {})()
    },
  }
  const parts = { ...needs, sessions: sessionReader({ ...needs, sql }), streams: streams as never }
  const mount = portalMount(parts, needs.face, { endpoints, sign_in })
  assert.deepEqual(
    mount.endpoints.map(({ path }) => path),
    ['/session/begin', '/v1/balance'],
  )
  const [events] = mount.streams
  const given: (string | string[] | undefined)[] = ['7', undefined, 'x7', ['7'], '9'.repeat(19)]
  for (const last of given)
    await events!.open!(
      {
        body: {},
        customer: asks('anna', 'reader'),
        headers: { 'last-event-id': last } as never,
        ip: '',
        request_id: '',
        reply_headers: {},
      },
      new AbortController().signal,
    )
  assert.deepEqual(opened, [7n, undefined, undefined, undefined, undefined])
})

test('papers are shown to those whose role may see them, of their customer alone', async (t) => {
  const { sql, needs, invite } = await withKeysAndUsers(t)
  const sessions = sessionReader({ ...needs, sql })
  const asked: string[] = []
  const page = paperPage(
    { sessions, face: needs.face },
    {
      path: '/papers/:id',
      summary: 'A paper',
      scope: 'money',
      style: '',
      page: (id) => `/portal/papers/${id}`,
      print: async ({ customer_id, id }) => {
        asked.push(customer_id)
        return id === 'there' ? `<p>${customer_id}</p>` : undefined
      },
    },
  )
  const show = async (user_id: string | undefined, id: string, face = needs.face) => {
    const wanted = { user_id: user_id ?? '', face, place: { ip: '', browser: '' } }
    const token = user_id
      ? (await sql.begin((tx) => beginSession(tx, needs, wanted))).token
      : undefined
    const headers = token ? { cookie: `__Host-penstock=${token}` } : {}
    const params = { id }
    const request = { params, query: new URLSearchParams(), headers, request_id: 'request' }
    const { status, body } = await page.handle(request)
    return status === 200 ? body : status
  }
  const [finance, reader] = [await invite({ role: 'finance' }), await invite({ role: 'reader' })]
  const beta = await invite({ role: 'finance', customer_id: 'beta' })
  const olga = await invite({ role: 'admin', customer_id: null })
  assert.equal(await show(finance, 'there'), '<p>alpha</p>')
  assert.equal(await show(beta, 'there'), '<p>beta</p>')
  assert.equal(await show(finance, 'none'), 302)
  assert.deepEqual(asked, ['alpha', 'beta', 'alpha'])
  assert.equal(await show(reader, 'there'), 302)
  assert.equal(await show(undefined, 'there'), 302)
  assert.equal(await show(olga, 'there', consoleFace('https://pages.example')), 302)
  assert.equal(asked.length, 3, 'nothing is read for those who may not see it')
})
