import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  consoleFace,
  cookieName,
  cookieOptions,
  originOf,
  portalFace,
  whyNoPasskeys,
  whyNoSignIn,
} from './faces.ts'

test('sessions last as long as is configured, of each length left out as long as may be', () => {
  const hours = ({ idle_ms, life_ms }: { idle_ms: number; life_ms: number }) =>
    [idle_ms, life_ms].map((ms) => ms / 3_600_000)
  assert.deepEqual(hours(portalFace(undefined)), [12, 168])
  assert.deepEqual(hours(consoleFace(undefined)), [0.5, 12])
  assert.deepEqual(hours(portalFace(undefined, { idle_minutes: 30 })), [0.5, 168])
  assert.deepEqual(hours(consoleFace(undefined, { life_hours: 2 })), [0.5, 2])
})

test('one signs in over https, or at localhost, and has passkeys where there is a name', () => {
  for (const [origin, sign_in, passkeys] of [
    ['https://penstock.example', true, true],
    ['http://localhost:8080', true, true],
    ['http://penstock.example', false, true],
    ['ws://localhost', false, true],
    ['https://192.0.2.1', true, false],
    ['https://[2001:db8::1]', true, false],
  ] as const) {
    assert.equal(whyNoSignIn(origin) === undefined, sign_in, origin)
    assert.equal(whyNoPasskeys(origin) === undefined, passkeys, origin)
  }
})

test('a face without an address is at the port of this machine that is asked', () => {
  const at = (port: number | undefined, url?: string) => originOf(portalFace(url), port)
  assert.deepEqual(
    [at(undefined), at(80), at(81), at(8080), at(8080, 'https://penstock.example')],
    [
      'http://localhost',
      'http://localhost',
      'http://localhost:81',
      'http://localhost:8080',
      'https://penstock.example',
    ],
  )
})

test('each face has a cookie of its own, bound to its host where that is by https', () => {
  const names = (origin: string) =>
    [portalFace(undefined), consoleFace(undefined)].map((face) => cookieName(face, origin))
  assert.deepEqual(names('http://localhost'), ['penstock', 'penstock-console'])
  assert.deepEqual(names('https://penstock.example'), [
    '__Host-penstock',
    '__Host-penstock-console',
  ])
  assert.deepEqual(
    [cookieOptions('http://localhost').secure, cookieOptions('https://a.example').secure],
    [false, true],
  )
})
