// Which browser is known again, for which name.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseSetCookie } from 'cookie'
import { PAGES } from 'penstock-test/harness/sign_in_pages.ts'
import { systemRandom } from '../../lib/ids.ts'
import { sealWith } from '../../platform/seal/seal.ts'
import { consoleFace, portalFace } from '../users/faces.ts'
import { browserCookie, browserIdFor } from './browsers.ts'

const seal = sealWith({ current: 'a', keys: { a: new Uint8Array(32).fill(1) } }, systemRandom)
const ID = '01m7xps0ca8ksnnfg71x89vdp6'
const needs = { face: portalFace(PAGES), seal, new_id: () => ID }

const withCookie = (cookie: string | undefined) => ({
  headers: { origin: PAGES, cookie },
  ip: '192.0.2.1',
  reply_headers: {},
  request_id: 'request',
})
/** The cookie after names have signed in, one after the other. */
function cookieOf(names: readonly string[], of = needs): string | undefined {
  let cookie: string | undefined
  for (const one of names) {
    const { name, value } = parseSetCookie(browserCookie(of, withCookie(cookie), one))
    cookie = `${name}=${value}`
  }
  return cookie
}
const idFor = (name: string, cookie: string | undefined, of = needs) =>
  browserIdFor(of, withCookie(cookie), name)

test('a browser is known for the last three names that have signed in', () => {
  const one = cookieOf(['anna'])
  assert.deepEqual([idFor('anna', one), idFor('bert', one)], [ID, undefined])
  assert.equal(idFor('anna', undefined), undefined)
  const four = cookieOf(['anna', 'bert', 'carl', 'dora'])
  assert.deepEqual(
    ['anna', 'bert', 'carl', 'dora'].map((name) => idFor(name, four)),
    [undefined, ID, ID, ID],
  )
  assert.equal(four!.split('~').length, 4, 'no more is kept than is read')
  const again = cookieOf(['anna', 'bert', 'carl', 'anna', 'dora'])
  assert.deepEqual([idFor('anna', again), idFor('bert', again)], [ID, undefined])
})

test('a cookie of another face, of another id, or of no id is none', () => {
  const console = { ...needs, face: consoleFace(PAGES) }
  const cookie = cookieOf(['anna'])
  assert.equal(idFor('anna', cookie, console), undefined)
  assert.equal(idFor('anna', cookie!.replace(ID, ID.replace('01', '02'))), undefined)
  const short = cookieOf(['anna'], { ...needs, new_id: () => 'short' })
  assert.equal(idFor('anna', short), undefined)
  assert.equal(idFor('anna', cookie!.replace(/=.*/, '=')), undefined)
})
