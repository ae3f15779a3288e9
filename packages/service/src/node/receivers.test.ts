import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Outage } from '../lib/fault.ts'
import type { AccountState } from './node.ts'
import { receiverReader } from './receivers.ts'

const ADDRESS = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t'

/** A reader of what the chain says, one answer after the other, and how often it was asked. */
function reader(...answers: (Partial<AccountState> | Error)[]) {
  let asked = 0
  const node = {
    async account() {
      asked += 1
      const answer = answers.shift()
      if (answer === undefined || answer instanceof Error)
        throw answer ?? new Error('asked too often')
      return {
        active: false,
        contract: false,
        balance_sun: 0n,
        permissions: [],
        ...answer,
      } as AccountState
    },
  }
  let now_ms = 0
  const clock = { now: () => new Date(now_ms) }
  const later = (ms: number) => {
    now_ms += ms
  }
  return { receiver: receiverReader({ clock, node }), asked: () => asked, later }
}

test('active addresses and contracts are cached for a minute, inactive ones are not', async () => {
  const active = reader({ active: true })
  assert.deepEqual(
    [await active.receiver(ADDRESS), await active.receiver(ADDRESS), active.asked()],
    ['active', 'active', 1],
  )
  const forgotten = reader({ active: true }, {})
  const first = await forgotten.receiver(ADDRESS)
  forgotten.later(60_000)
  assert.deepEqual([first, await forgotten.receiver(ADDRESS)], ['active', 'inactive'])
  const contract = reader({ active: true, contract: true })
  assert.deepEqual(
    [await contract.receiver(ADDRESS), await contract.receiver(ADDRESS)],
    ['contract', 'contract'],
  )
  const inactive = reader({}, {}, { active: true })
  const seen = [
    await inactive.receiver(ADDRESS),
    await inactive.receiver(ADDRESS),
    await inactive.receiver(ADDRESS),
  ]
  assert.deepEqual(seen, ['inactive', 'inactive', 'active'])
})

test('without the chain nothing is known or cached; a bug stays a bug', async () => {
  const { receiver } = reader(new Outage('the node'), { active: true })
  assert.deepEqual([await receiver(ADDRESS), await receiver(ADDRESS)], ['unknown', 'active'])
  await assert.rejects(reader(new TypeError('bug')).receiver(ADDRESS), TypeError)
})
