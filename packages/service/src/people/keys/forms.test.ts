// How limits of a key are read, and what of a key is shown at a moment.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { NOW, withKeysAndUsers } from 'penstock-test/harness/keys_and_users.ts'
import { printKey, readLimits, recordedKey, reportKeys } from './forms.ts'

const after = (ms: number) => new Date(NOW.getTime() + ms)
const [ANNA, BERT] = ['anna', 'bert'].map((name) => person(name).address) as [string, string]
const json = (value: unknown) => JSON.parse(JSON.stringify(value))

test('receivers are addresses, each once, or any alone', () => {
  const receivers = (...given: string[]) => readLimits({ receivers: given }, NOW).receivers
  assert.deepEqual(receivers(ANNA, BERT, ANNA), [ANNA, BERT])
  assert.equal(receivers('any'), null)
  for (const [wrong, param] of [
    [['any', ANNA], 'receivers[0]'],
    [[ANNA, 'any'], 'receivers[1]'],
    [['any', 'any'], 'receivers[0]'],
    [[ANNA, BERT, 'T'], 'receivers[2]'],
  ] as const)
    assert.throws(() => receivers(...wrong), {
      about: { param, must: 'an address of the network' },
    })
  const network = () => readLimits({ networks: ['10.0.0.0/8', 'none'] }, NOW)
  assert.throws(network, /Not an address or network/)
})

test('an end is never, or a time that is still to come', () => {
  const end = (ends_at: string) => readLimits({ ends_at }, NOW).expires_at
  assert.equal(end('never'), null)
  assert.deepEqual(end('2026-10-08T15:26:33Z'), after(1_000))
  for (const wrong of ['2026-10-08T15:26:32Z', '2026-10-08T15:26:31Z', 'Never', 'tomorrow', ''])
    assert.throws(() => end(wrong), /Invalid ends_at/, wrong)
})

test('a cap is an amount, or none', () => {
  const cap = (daily_cap: number | string) =>
    readLimits({ daily_cap: daily_cap as never }, NOW).daily_cap_sun
  assert.deepEqual([cap(5), cap('none')], [5_000_000n, null])
  assert.throws(() => cap('any'))
})

test('of a key those secrets are shown that sign, of a user none', async (t) => {
  const { sql, issue, invite } = await withKeysAndUsers(t)
  const [id, user] = [await issue(), await invite()]
  const shown = async (of: string, at: Date) => {
    const [key] = await reportKeys(sql, { ids: [of], limit: 1, day: '2026-10-08' })
    assert.deepEqual(recordedKey(key!, at).secrets, printKey(key!, at).secrets)
    return printKey(key!, at).secrets.map(({ until }) => until)
  }
  assert.deepEqual(await shown(id, NOW), [null])
  assert.deepEqual(await shown(user, NOW), [])
  await sql`
    update api_key set old_secret_made_at = ${NOW}, old_secret_until = ${after(1_000)},
      old_sealed_secret = sealed_secret where id = ${id}`
  assert.deepEqual(await shown(id, after(999)), [null, '2026-10-08T15:26:33Z'])
  assert.deepEqual(await shown(id, after(1_000)), [null])
  await sql`update api_key set revoked_at = ${NOW} where id = ${id}`
  assert.deepEqual(await shown(id, after(999)), [])
})

test('what a key may spend, and has spent, is an amount or not known', async (t) => {
  const { sql, issue } = await withKeysAndUsers(t)
  const shown = async (daily_cap_sun: bigint | undefined) => {
    const id = await issue({ daily_cap_sun })
    const [key] = await reportKeys(sql, { ids: [id], limit: 1, day: '2026-10-08' })
    const { daily_cap, spent_today } = json(printKey(key!, NOW))
    assert.equal(json(recordedKey(key!, NOW)).daily_cap, daily_cap)
    return [daily_cap, spent_today]
  }
  assert.deepEqual(await shown(undefined), [null, null])
  assert.deepEqual(await shown(0n), [0, 0])
  assert.deepEqual(await shown(5_000_000n), [5, 0])
})
