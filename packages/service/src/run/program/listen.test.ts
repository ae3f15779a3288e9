// What is said of a port that cannot be had.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Misuse } from '../../lib/fault.ts'
import { listening } from './listen.ts'

const failing = (thrown: unknown) =>
  listening(async () => {
    throw thrown
  }, 80)

test('a port that is taken, not allowed or not there is a mistake in words', async () => {
  assert.equal(await listening(async () => 'listens', 80), 'listens')
  for (const [code, words] of [
    ['EADDRINUSE', /^Port 80 is in use; choose another/],
    ['EACCES', /^Port 80 needs more rights than this user has/],
    ['EADDRNOTAVAIL', /^This machine has no such address/],
    ['ENOTFOUND', /^This machine has no such address/],
  ] as const) {
    const thrown = Object.assign(new Error('refused'), { code })
    await assert.rejects(failing(thrown), (error: Error) => {
      assert.ok(error instanceof Misuse, code)
      assert.match(error.message, words)
      return true
    })
  }
})

test('whatever else keeps it from listening is thrown as it is', async () => {
  const others = [
    Object.assign(new Error('refused'), { code: 'EMFILE' }),
    new Error('EACCES'),
    { code: 'EACCES' },
    undefined,
  ]
  for (const thrown of others)
    await assert.rejects(failing(thrown), (error: unknown) => error === thrown)
})
