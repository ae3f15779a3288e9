// Which passwords may be chosen, and who waits for whose hash.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TooManyRequests } from '../../lib/fault.ts'
import { systemRandom } from '../../lib/ids.ts'
import { passwordHasher, requireGoodPassword } from './passwords.ts'

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

const PASSWORD = 'correct horse battery'
const stranger = (name: string) => ({ name, is_known: false })
const known = (name: string) => ({ name, is_known: true })

test('a name that nobody has costs one hash in ten seconds, and keeps nobody waiting', async () => {
  let now_ms = 0
  const passwords = passwordHasher(systemRandom, 10, () => now_ms)
  const guess = (lane: string) => passwords.check(PASSWORD, undefined, stranger(lane))
  assert.equal(await guess('a'), false)
  assert.equal(passwords.count, 1)
  const hash = await passwords.hash(PASSWORD, known('anna'))
  // Far more than may wait for hashes, from as many networks.
  const guesses = Array.from({ length: 200 }, (_, i) => guess(`network ${i}`))
  assert.equal(await passwords.check(PASSWORD, hash, stranger('other')), true)
  assert.deepEqual(new Set(await Promise.all(guesses)), new Set([false]))
  assert.equal(passwords.count, 3)
  now_ms += 10_001
  assert.equal(await guess('a'), false)
  assert.equal(passwords.count, 4)
})

test('strangers of one provider share places, and those who are known have their own', async () => {
  const passwords = passwordHasher(systemRandom, 10)
  const hash = await passwords.hash(PASSWORD, known('anna'))
  const check = (lane: ReturnType<typeof known>) =>
    passwords.check(PASSWORD, hash, lane).catch((thrown: unknown) => thrown)
  const refusedOf = async (asked: Promise<unknown>[]) =>
    (await Promise.all(asked)).filter((one) => one instanceof TooManyRequests).length
  const many = Array.from({ length: 20 }, () => check(stranger('203.0.0.0/16')))
  const others = [check(stranger('198.51.0.0/16')), check(known('browser'))]
  assert.deepEqual([await refusedOf(others), await refusedOf(many)], [0, 15])
  const networks = Array.from({ length: 100 }, (_, i) => check(stranger(`10.${i}.0.0/16`)))
  const honest = [check(known('browser')), check(known('network'))]
  assert.equal(await refusedOf(honest), 0)
  assert.ok((await refusedOf(networks)) > 0)
})

test('a password counts as a whole, as it was typed, however old it is', async () => {
  let now_ms = 0
  const passwords = passwordHasher(systemRandom, 10, () => now_ms)
  const long = `${'long and odd 7 '.repeat(17)}x`
  assert.equal(long.length, 256)
  const hash = await passwords.hash(long, known('anna'))
  const check = (typed: string) => passwords.check(typed, hash, known('anna'))
  for (const other of [long.slice(0, -1), `${long.slice(0, -1)}y`, long.toUpperCase(), ` ${long}`])
    assert.equal(await check(other), false)
  now_ms += 10 * 365 * 86_400_000
  assert.equal(await check(long), true)
  // The same letter, as two keyboards write it.
  const accented = await passwords.hash('caf\u00e9 au lait 42', known('anna'))
  assert.equal(await passwords.check('cafe\u0301 au lait 42', accented, known('anna')), true)
})
