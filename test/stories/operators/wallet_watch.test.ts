// A key that turns wide while the service runs.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import type { AccountState, Permission } from 'penstock-service/chain/node/node.ts'
import type { OwnWallets } from 'penstock-service/chain/wallets/permissions.ts'
import { findWalletCheck, walletWatch } from 'penstock-service/chain/wallets/wallet_watch.ts'
import { alerts } from 'penstock-service/health/monitoring/alerts.ts'
import { Outage } from 'penstock-service/lib/fault.ts'
import { silentLog } from 'penstock-service/lib/log.ts'
import type { Address } from 'penstock-tron/address.ts'
import { addressOf } from 'penstock-tron/keys.ts'
import { freshDatabase } from '../../harness/database.ts'

const HOUR_MS = 3_600_000
const [pool, activation] = [person('pool'), person('activation')]
const wallets: OwnWallets = {
  pool: [{ address: pool.address, permission_id: 2, private_key: person('hot').key }],
  activation: { address: activation.address, permission_id: 2, private_key: person('creator').key },
  recharge_address: person('recharge').address,
}

const NOTHING_USED = { units: 0n, seconds: 86_400n }
const one = (address: Address) => [{ address, weight: 1n }]
const active = (operations: string, key: string): Permission => ({
  id: 2,
  name: 'hot',
  threshold: 1n,
  operations: operations.padEnd(64, '0'),
  keys: one(addressOf(key)),
})

/** The chain as a node tells it: right, until the pool's hot key becomes its owner. */
function chain() {
  let is_wide = false
  let is_away = false
  let asked = 0
  const permissions: Record<string, Permission[]> = {
    [pool.address]: [active('0000000000000006', person('hot').key)],
    [activation.address]: [active('01', person('creator').key)],
  }
  const node = {
    async accountEverywhere(address: Address): Promise<AccountState[]> {
      if (is_away) throw new Outage('node')
      asked += 1
      const owner = is_wide && address === pool.address ? addressOf(person('hot').key) : address
      return [
        {
          active: true,
          contract: false,
          existed_at: undefined,
          has_signed: false,
          balance_sun: 0n,
          staked_sun: { energy: 5n, bandwidth: 2n },
          free_stake_sun: { energy: 0n, bandwidth: 0n },
          leaving: [],
          withdrew_at: undefined,
          votes: [],
          recovering: { energy: NOTHING_USED, bandwidth: NOTHING_USED },
          owner: { id: 0, name: 'owner', threshold: 1n, operations: '', keys: one(owner) },
          witness: undefined,
          permissions: permissions[address] ?? [],
        },
      ]
    },
  }
  return {
    node,
    asked: () => asked,
    turn(wide: boolean) {
      is_wide = wide
    },
    leave(away: boolean) {
      is_away = away
    },
  }
}

test('a key with too many rights is found within the hour, and signs nothing', async (t) => {
  const { sql } = await freshDatabase(t)
  const at = chain()
  let now = new Date(1_780_000_000_000)
  const watchWith = (allow_wide_keys: boolean) =>
    walletWatch({
      sql,
      clock: { now: () => now },
      node: at.node,
      log: silentLog,
      wallets,
      allow_wide_keys,
      stopped_here: () => false,
    })
  const watch = watchWith(false)
  const wide = async () =>
    (await alerts({ sql, now })).filter(({ alert }) => alert === 'wallet_key_wide')
  await watch.step.run()
  assert.equal(watch.isStopped(pool.address), false)
  assert.deepEqual(watch.stakes(), new Map([[pool.address, 7n]]))
  at.turn(true)
  const before = at.asked()
  await watch.step.run()
  assert.equal(at.asked(), before, 'the nodes are not asked all the time')
  now = new Date(now.getTime() + HOUR_MS)
  await watch.step.run()
  assert.equal(watch.isStopped(pool.address), true)
  assert.equal(watch.isStopped(activation.address), false)
  const [alert, ...more] = await wide()
  assert.equal(more.length, 0)
  assert.match(
    alert!.what,
    /is in the owner permission of T\w+: it can do everything there\. Nothing is signed for it\./,
  )
  // A row that somebody changes is not what decides.
  await sql`update wallet_check set stopped = false, complaints = '{}'`
  assert.equal(watch.isStopped(pool.address), true)

  const allowing = watchWith(true)
  await allowing.step.run()
  assert.equal(allowing.isStopped(pool.address), false)
  assert.equal((await wide()).length, 1, 'it is told all the same')

  at.turn(false)
  now = new Date(now.getTime() + 60_000)
  await watch.step.run()
  assert.equal(
    watch.isStopped(pool.address),
    false,
    'it is looked at every minute until it is right',
  )
  assert.deepEqual(await wide(), [])
})

test('while no node answers the last word holds, and after hours somebody is told', async (t) => {
  const { sql } = await freshDatabase(t)
  const at = chain()
  let now = new Date(1_780_000_000_000)
  const clock = { now: () => now }
  const watch = walletWatch({
    sql,
    clock,
    node: at.node,
    log: silentLog,
    wallets,
    allow_wide_keys: false,
    stopped_here: () => false,
  })
  at.turn(true)
  await watch.step.run()
  at.leave(true)
  now = new Date(now.getTime() + 4 * HOUR_MS)
  await assert.rejects(watch.step.run(), Outage)
  assert.equal(watch.isStopped(pool.address), true)
  const names = (await alerts({ sql, now })).map(({ alert }) => alert)
  assert.ok(names.includes('wallet_key_unchecked'))
})

test('a wallet that was taken out of the file is told of no more, some hours later', async (t) => {
  const { sql } = await freshDatabase(t)
  const at = chain()
  let now = new Date(1_780_000_000_000)
  const told = async () => (await alerts({ sql, now })).map(({ alert }) => alert)
  const watch = walletWatch({
    sql,
    clock: { now: () => now },
    node: at.node,
    log: silentLog,
    wallets,
    allow_wide_keys: false,
    stopped_here: () => false,
  })
  await sql`
    insert into wallet_check (address, checked_at, complaints, stopped, stopped_here)
    values ('gone', ${now}, '{"it is wide"}', true, true)`
  await watch.step.run()
  assert.deepEqual(
    (await told()).filter((alert) => /wallet_key|signing/.test(alert)),
    ['signing_stopped', 'wallet_key_wide'],
  )
  now = new Date(now.getTime() + 4 * HOUR_MS)
  await watch.step.run()
  assert.deepEqual(
    (await told()).filter((alert) => /wallet_key|signing/.test(alert)),
    [],
  )
})

test('what was found is told of each wallet whose key is here, and of no other', async (t) => {
  const { sql } = await freshDatabase(t)
  const at = chain()
  const now = new Date(1_780_000_000_000)
  const { private_key: _, ...keyless } = wallets.activation
  const other = person('other').address
  const watch = walletWatch({
    sql,
    clock: { now: () => now },
    node: at.node,
    log: silentLog,
    wallets: { ...wallets, activation: keyless, refund: { ...wallets.activation, address: other } },
    allow_wide_keys: false,
    stopped_here: () => false,
  })
  at.turn(true)
  await watch.step.run()
  const wide = await findWalletCheck(sql, pool.address)
  assert.deepEqual([wide?.stopped, wide?.complaints.length], [true, 1])
  const unable = await findWalletCheck(sql, other)
  assert.equal(unable?.stopped, false)
  assert.match(String(unable?.complaints), /\(refund\) cannot act alone with permission 2\.$/)
  assert.equal(await findWalletCheck(sql, activation.address), undefined)
})
