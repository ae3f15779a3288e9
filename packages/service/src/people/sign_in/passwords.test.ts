// Which passwords may be chosen.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requireGoodPassword } from './passwords.ts'

const of = { sign_in_name: 'anna.k', brand: 'Voltmarket' }

/** Why a password is refused; undefined: it is taken. */
const whyNot = (password: string): Promise<string | undefined> =>
  requireGoodPassword(password, of).then(
    () => undefined,
    (thrown: Error) => thrown.message,
  )

test('common, repeated and running passwords are refused, and long odd ones taken', async () => {
  const common = ['password1234', 'Password1234!', 'P@ssw0rd1234', 'iloveyou1234', 'letmein12345']
  const running = ['123456789012', 'qwertyuiop12', 'abcdefghijklmnop', 'zxcvbnm,./asdf']
  const repeated = ['aaaaaaaaaaaa', 'abcabcabcabc', 'passwordpassword', 'x'.repeat(256)]
  for (const password of [...common, ...running, ...repeated])
    assert.match((await whyNot(password)) ?? '', /among the first/, password)
  const good = [
    'correct horse battery',
    'kq7 zvRt 2mXp',
    'моя собака любит снег',
    '天地玄黄宇宙洪荒日月盈昃',
  ]
  for (const password of good) assert.equal(await whyNot(password), undefined, password)
})

test('a password says neither who its user is nor where it is for', async () => {
  for (const password of ['my ANNA.K 8fj2 qpz', 'voltmarket 8fj2 qpz', '8fj2 Penstock qpz'])
    assert.match((await whyNot(password)) ?? '', /must not contain/, password)
  // Nor in figures for letters.
  assert.match((await whyNot('@nn@.k@nn@.k')) ?? '', /among the first/)
})
