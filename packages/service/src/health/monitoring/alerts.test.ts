// Every alert there is, brought about and ended: what it stands for happens in a world where that
// is cheap, and is written into its rows where it is not. Each is told as an event when it is found
// and when it is over, and `status` has it in between.

import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { type Operator, worldOperator } from 'penstock-test/harness/operator.ts'
import { keepMore } from 'penstock-test/harness/without_triggers.ts'
import { type Customer, makeWorld, type World } from 'penstock-test/harness/world.ts'
import { HOUSE, listEvents } from '../../events/log/events.ts'
import { Outage } from '../../lib/fault.ts'
import { idMaker, systemRandom } from '../../lib/ids.ts'
import { publishPolicy, SHIPPED_NEWEST } from '../../screening/engine/policy.ts'
import { type Download, refreshStep } from '../../screening/labels/lists.ts'
import { ALERTS } from './alerts.ts'
import { watchAlertsStep } from './watch_alerts.ts'

type Stage = { world: World; anna: Customer; at: Operator }

/** What raises alerts, and what ends them again. */
type Case = {
  raises: readonly string[]
  cause(stage: Stage): Promise<unknown>
  end(stage: Stage): Promise<unknown>
}

const HOURS_AWAY = 4 * 3_600 + 60

const CASES: Record<string, Case> = {
  'the workers are killed for four hours, with an order in between': {
    raises: ['chain_silent', 'chain_behind', 'books_unchecked', 'journal_behind', 'order_waits'],
    async cause({ world, anna }) {
      await buy({ world, anna })
      world.wait(HOURS_AWAY)
    },
    async end({ world }) {
      await world.advance(HOURS_AWAY)
      await world.settle()
      await world.advance(60)
    },
  },
  'signing is stopped, and somebody buys': {
    raises: ['signing_stopped', 'attempt_unsigned'],
    async cause({ world, anna, at }) {
      await at.json('signer', 'stop', '--reason', 'a laptop is gone')
      await buy({ world, anna })
      await world.drain()
      await world.advance(120)
    },
    end: signAgain,
  },
  'signing is stopped when an hour is over': {
    raises: ['delegation_overdue'],
    async cause({ world, anna, at }) {
      await buy({ world, anna })
      await world.settle()
      await at.json('signer', 'stop', '--reason', 'a laptop is gone')
      await world.advance(3_600 + 660)
      await world.solidify()
      await world.solidify()
    },
    end: signAgain,
  },
  'the network loses transactions, and no node says what became of them': {
    raises: ['attempt_unknown'],
    async cause({ world, anna }) {
      world.network.loses = () => true
      await buy({ world, anna })
      await world.drain()
      await world.sql`
        update attempt set expires_at = expires_at - interval '10 minutes' where state = 'sent'`
    },
    async end({ world }) {
      world.network.loses = () => false
      await world.sql`
        update attempt set expires_at = expires_at + interval '10 minutes' where state = 'sent'`
      await world.settle()
    },
  },
  'an attempt is forged': {
    raises: ['signing_refused'],
    async cause({ world }) {
      await world.sql`
        insert into attempt (id, subject, contract, send_at, made_at)
        values ('forged', 'refund:forged', '{}', ${world.now}, ${world.now})`
      await world.drain()
    },
    end: ({ world }) => world.sql`delete from attempt where id = 'forged'`,
  },
  'costs go far above the prices that a rule holds up': {
    raises: ['price_floor_refused'],
    async cause({ world, anna, at }) {
      await buy({ world, anna })
      await world.settle()
      await at.json('price-rules', 'set', 'energy', '--margin', '0', '--reason', 'floors')
      await world.sql`
        update attempt set fee_sun = 1000000000000 where subject like 'delegate:%'`
      await world.advance(660)
      await world.drain()
    },
    end: ({ at }) => at.json('price-rules', 'set', 'energy', '--none', '--reason', 'done'),
  },
  'a letter does not go out': {
    raises: ['letters_late'],
    cause: ({ world }) => world.sql`
      insert into sign_up (id, email, language, network, made_at, ends_at, token_hash, sealed_token,
        due_at)
      values ('late', 'anna@example.com', 'en', '192.0.2.1', ${world.now}::timestamptz
        - interval '11 minutes', ${world.now}::timestamptz + interval '23 hours', 'hash', 'sealed',
        ${world.now})`,
    end: ({ world }) => world.sql`update sign_up set state = 'sent', sealed_token = null`,
  },
  'a webhook answers that it is gone': {
    raises: ['webhooks_failing'],
    async cause({ world, anna }) {
      const made = await anna.call('/v1/webhook/new', { url: 'https://shop.example/' })
      webhook_id = (made.result as { webhook: { id: string } }).webhook.id
      world.hook = () => ({ status: 410 })
      await buy({ world, anna })
      await world.settle()
    },
    async end({ world, anna }) {
      world.hook = () => ({})
      await anna.call('/v1/webhook/change', { id: webhook_id, state: 'on' })
    },
  },
  'an account has a sun too many': {
    raises: ['books_broken'],
    async cause({ world, anna }) {
      await keepMore(world.sql, `customer:${anna.id}`, 1n)
      // What is found twice counts.
      await world.advance(700)
      await world.advance(20)
    },
    async end({ world, anna, at }) {
      await keepMore(world.sql, `customer:${anna.id}`, -1n)
      await world.advance(700)
      await at.json('services', 'on', '--all', '--reason', 'seen to')
    },
  },
  'the pool was drained': {
    raises: ['pool_low'],
    cause: ({ world }) => world.sql`update pool set room = room - ${MUCH}::bigint`,
    end: ({ world }) => world.sql`update pool set room = room + ${MUCH}::bigint`,
  },
  'a pool wallet has nothing left to pay with': {
    raises: ['wallet_cannot_pay'],
    cause: ({ world }) => world.sql`update pool_wallet set carries = carries - ${MUCH}::bigint`,
    end: ({ world }) => world.sql`update pool_wallet set carries = carries + ${MUCH}::bigint`,
  },
  'no block was ever followed': {
    raises: ['chain_unknown'],
    async cause({ world }) {
      const [row] = await world.sql<{ chain: string }>`
        with gone as (delete from chain returning to_jsonb(chain)::text as chain)
        select chain from gone`
      chain = row!.chain
    },
    end: ({ world }) => world.sql`
      insert into chain select (jsonb_populate_record(null::chain, ${chain}::jsonb)).*`,
  },
  'the network builds on no block': {
    raises: ['solid_behind'],
    cause: ({ world }) => world.sql`update chain set head_number = head_number + 61`,
    end: ({ world }) => world.sql`update chain set head_number = head_number - 61`,
  },
  'two nodes contradict each other': {
    raises: ['nodes_disagree'],
    cause: ({ world }) => world.sql`
      insert into node_dispute (dissenting, against, number, what, times, first_at, last_at)
      values ('{node2}', '{devchain}', 7, 'its id', 1, ${world.now}, ${world.now})`,
    end: ({ world }) => world.sql`delete from node_dispute`,
  },
  'the second node is cut off': {
    raises: ['second_node_silent'],
    cause: ({ world }) => world.sql`
      update chain set unconfirmed_since = ${world.now}::timestamptz - interval '4 minutes'`,
    end: ({ world }) => world.sql`update chain set unconfirmed_since = null`,
  },
  'a node does not show what contracts send': {
    raises: ['internal_transfers_hidden'],
    cause: ({ world }) => world.sql`
      insert into node_hiding (node, number, tx_id, seen_at)
      values ('node2', 7, ${TX_ID}, ${world.now})`,
    end: ({ world }) => world.sql`delete from node_hiding`,
  },
  'nobody could be asked for freezes of before': {
    raises: ['freezes_not_asked'],
    cause: ({ world }) => world.sql`
      insert into issuer_word (address, token, asked_at, said, nodes, error)
      values ('T', 'U', ${world.now}, 'not_asked', 1, 'no answer')`,
    end: ({ world }) => world.sql`
      insert into issuer_word (address, token, asked_at, said, nodes)
      values ('T', 'U', ${world.now}::timestamptz + interval '1 second', 'not_frozen', 1)`,
  },
  'checks are answered and no list is loaded': {
    raises: ['lists_none'],
    cause: ({ world, anna }) => insertCheck(world, anna.id, 'completed', null),
    async end({ world }) {
      await world.sql`insert into label_set (number, sha256, note, published_at, published_by)
        values (1, ${'0'.repeat(64)}, 'test', ${world.now}, 'test')`
      await world.sql`insert into list_version (list, origin, sha256, entries, passed_over,
        loaded_at, loaded_by)
        values ('operator', 'test', ${'0'.repeat(64)}, 0, 0, ${world.now}, 'test')`
      await world.sql`insert into label_set_version (label_set, version_id)
        select 1, id from list_version`
    },
  },
  'an official list was not read for eight days, another not for two of its turns': {
    raises: ['list_old'],
    cause: ({ world }) => world.sql`
      update list set read_at = ${world.now}::timestamptz - interval '8 days',
        refresh_hours = case when code = 'tagpacks' then 95 end
      where code in ('nbctf', 'tagpacks')`,
    end: ({ world }) => world.sql`update list set read_at = ${world.now} where read_at is not null`,
  },
  'a publisher does not answer': {
    raises: ['list_failing'],
    cause: ({ world }) => refresh(world, async () => Promise.reject(new Outage('no answer'))),
    async end({ world }) {
      const bytes = Readable.from([Buffer.from(`address,category\n${HOUSE_ADDRESS},mixer\n`)])
      await refresh(world, async () => ({ bytes, bytes_expected: undefined }))
    },
  },
  'the index of a worker stands still': {
    raises: ['index_behind'],
    cause: ({ world }) => world.sql`
      insert into process (id, role, host, version, schema, started_at, seen_at, beat, standbys,
        clock_offset_ms, unreplicated_commits, report)
      select 'slow', 'worker', 'other', '1', 1, ${world.now}::timestamptz - interval '2 minutes',
        clock_timestamp(), 1, 0, 0, 0, jsonb_build_object('indexes', jsonb_build_array(
          jsonb_build_object('in_use', true, 'block_number', max(number) - 21)))
      from flow_block`,
    end: ({ world }) => world.sql`
      update process set report = jsonb_build_object('indexes', jsonb_build_array(
        jsonb_build_object('in_use', true, 'block_number', (select max(number) from flow_block))))
      where id = 'slow'`,
  },
  'workers leave the index to others, and no process has one': {
    raises: ['index_missing'],
    async cause({ world }) {
      await world.sql`delete from process where report ? 'indexes'`
      await world.sql`
        insert into process (id, role, host, version, schema, started_at, seen_at, beat, standbys,
          clock_offset_ms, unreplicated_commits, report)
        select id, 'worker', 'other', '1', 1, ${world.now}::timestamptz - age, clock_timestamp(),
          1, 0, 0, 0, '{"nodes": []}'
        from (values ('without', interval '2 minutes'), ('new', interval '0')) as t (id, age)`
    },
    end: ({ world }) => world.sql`
      insert into process (id, role, host, version, schema, started_at, seen_at, beat, standbys,
        clock_offset_ms, unreplicated_commits, report)
      select 'index', 'index', 'other', '1', 1, ${world.now}, clock_timestamp(), 1, 0, 0, 0,
        jsonb_build_object('indexes', jsonb_build_array(
          jsonb_build_object('in_use', true, 'block_number', max(number))))
      from flow_block`,
  },
  'what was sent is not read back any more': {
    raises: ['sent_old'],
    async cause({ world }) {
      const newest = { body: SHIPPED_NEWEST, published_by: 'test', published_at: world.now }
      await world.sql.begin((tx) => publishPolicy(tx, newest))
      // One that was through, and one that waits for a block that does not come.
      await world.sql`
        insert into flow_sent (generation, height, begun_at, read_at)
        select g.number, t.height, ${world.now}::timestamptz - t.before,
          case when t.height = 1 then ${world.now}::timestamptz - t.before end
        from (select min(number) as number from flow_generation) as g,
          (values (1, interval '3 days'), (1000000000, interval '0')) as t (height, before)
        order by t.height`
    },
    end: ({ world }) => world.sql`update flow_sent set read_at = ${world.now}`,
  },
  'nothing is copied to ClickHouse any more': {
    raises: ['archive_behind'],
    cause: ({ world }) => archiveSince(world, { last_number: -8_000, released: true }),
    end: endArchive,
  },
  'copies in ClickHouse are gone again and again': {
    raises: ['archive_behind'],
    async cause({ world }) {
      const [log] = await world.sql<{ last_number: bigint }>`
        select last_number from flow_log_ends`
      const last_number = Number(log!.last_number)
      await archiveSince(world, { last_number, released: false })
    },
    end: endArchive,
  },
  'checks fail that could have been answered': {
    raises: ['checks_failing'],
    async cause({ world, anna }) {
      for (let i = 0; i < 15; i++) await insertCheck(world, anna.id, 'completed', null)
      await insertCheck(world, anna.id, 'failed', 'tx_not_found')
      await insertCheck(world, anna.id, 'failed', 'index_stale')
    },
    async end({ world, anna }) {
      for (let i = 0; i < 2; i++) await insertCheck(world, anna.id, 'completed', null)
    },
  },
  'an answer waits for a decision for more than a day': {
    raises: ['review_waits'],
    cause: ({ world, anna }) => world.sql`
      insert into aml_review (check_id, customer_id, address, risk_score, opened_at)
      select id, ${anna.id}, address, 100, ${world.now}::timestamptz - interval '25 hours'
      from aml_check order by id limit 1`,
    end: ({ world }) => world.sql`delete from aml_review`,
  },
  'a case is late': {
    raises: ['cases_late'],
    // One that is late is enough; what is closed, or late for minutes alone, is not.
    cause: ({ world }) => world.sql`
      insert into aml_case (id, address, priority, due_at, opened_at, opened_by, state, closed_at,
        closed_by, code)
      select 'case ' || n, 'T' || n, 'high', ${world.now}::timestamptz - late, ${world.now}, 'test',
        state, closed_at, closed_by, code
      from (values
        (1, interval '2 hours', 'open', null, null, null),
        (2, interval '3 hours', 'closed', ${world.now}::timestamptz, 'olga', 'explained'),
        (3, interval '30 minutes', 'open', null, null, null))
        as t (n, late, state, closed_at, closed_by, code)`,
    end: ({ world }) => world.sql`update aml_case set due_at = ${world.now} where id = 'case 1'`,
  },
  'a provider fails whatever it is asked': {
    raises: ['provider_down'],
    cause: ({ world }) => world.sql`
      insert into aml_answer (check_id, provider, outcome, body, sha256, received_at)
      select id, 'amlbot', 'transient', '', ${'0'.repeat(64)}, ${world.now}
      from aml_check order by id limit 3`,
    end: ({ world }) => world.sql`
      insert into aml_answer (check_id, provider, outcome, body, sha256, received_at)
      select id, 'amlbot', 'answered', '', ${'0'.repeat(64)}, ${world.now}
      from aml_check order by id limit 1`,
  },
  'a reader of blocks stands still': {
    raises: ['reader_behind'],
    cause: ({ world }) => world.sql`update cursor set number = number - 1000`,
    end: ({ world }) => world.sql`update cursor set number = number + 1000`,
  },
  'a fork took back what was charged': {
    raises: ['order_owed'],
    async cause({ world }) {
      await world.advance(330)
      await world.sql`update orders set to_delegate = true where state = 'success'`
    },
    end: ({ world }) => world.sql`update orders set to_delegate = false where state = 'success'`,
  },
  'a hot key can do too much': {
    raises: ['wallet_key_wide'],
    cause: ({ world }) => world.sql`
      insert into wallet_check (address, checked_at, complaints, stopped, stopped_here)
      values ('wide', ${world.now}, '{It can do everything.}', false, false)`,
    end: ({ world }) => world.sql`delete from wallet_check where address = 'wide'`,
  },
  'nobody looks at the hot keys': {
    raises: ['wallet_key_unchecked'],
    async cause({ world }) {
      await world.sql`
        insert into wallet_check (address, checked_at, complaints, stopped, stopped_here)
        values ('unseen', ${world.now}, '{}', false, false)`
      await world.sql`update wallet_check set checked_at = checked_at - interval '4 hours'`
    },
    async end({ world }) {
      await world.sql`delete from wallet_check where address = 'unseen'`
      await world.sql`update wallet_check set checked_at = checked_at + interval '4 hours'`
    },
  },
  'money arrived that nothing can be done with, and a recharge is stuck': {
    raises: ['deposit_held', 'deposit_waits'],
    cause: ({ world }) => world.sql`
      insert into deposit (tx_id, position, from_address, to_address, amount_sun, block_number,
        block_time, state, reason, due_at, seen_at)
      select ${TX_ID}, position, 'from', 'to', 1, 1, at, state, 'for the test', at, at
      from (values (0, 'held'), (1, 'received')) as made (position, state),
        (select ${world.now}::timestamptz - interval '11 minutes' as at) as times`,
    end: ({ world }) => world.sql`delete from deposit where tx_id = ${TX_ID}`,
  },
  'a deposit is not screened': {
    raises: ['deposit_waits'],
    async cause({ world }) {
      await world.sql`
        insert into deposit (tx_id, position, from_address, to_address, amount_sun, block_number,
          block_time, state, due_at, seen_at)
        values (${TX_ID}, 0, 'from', 'to', 1, 1, ${world.now}, 'seen', ${world.now}, ${world.now})`
      await world.sql`
        insert into deposit_screening (tx_id, position, block_number, queued_at)
        values (${TX_ID}, 0, 1, ${world.now}::timestamptz - interval '11 minutes')`
    },
    end: ({ world }) => world.sql`
      update deposit_screening set screened_at = ${world.now} where tx_id = ${TX_ID}`,
  },
  'the database was restored from before': {
    raises: ['database_went_back'],
    cause: ({ world }) => world.sql`
      insert into database_loss (process_id, found_at, host, role, beat, missing)
      values ('other', ${world.now}, 'other', 'worker', 1, '{}')`,
    end: ({ world }) => world.sql`update database_loss set accepted_at = ${world.now}`,
  },
  'no backup was made today': {
    raises: ['backup_old'],
    cause: ({ world }) => world.sql`
      insert into backup (place, id, made_at, bytes)
      values ('/backups', 'old', ${world.now}::timestamptz - interval '26 hours', 1)`,
    end: ({ world }) => world.sql`
      insert into backup (place, id, made_at, bytes) values ('/backups', 'new', ${world.now}, 1)`,
  },
  'the standby is gone, a commit went on without it, and the clock is off': {
    raises: ['standby_missing', 'commit_unreplicated', 'clock_off'],
    cause: ({ world }) => world.sql`
      insert into process (id, role, host, version, schema, started_at, seen_at, beat, standbys,
        clock_offset_ms, unreplicated_commits)
      values ('other', 'worker', 'other', '1', 1, ${world.now}, clock_timestamp(), 1, 1, 1001, 1)`,
    end: ({ world }) => world.sql`delete from process where id = 'other'`,
  },
  'the disk of a worker is full': {
    raises: ['data_folder_unwritten'],
    cause: ({ world }) => world.sql`
      insert into process (id, role, host, version, schema, started_at, seen_at, beat, standbys,
        clock_offset_ms, unreplicated_commits, unwritten_since)
      values ('full', 'worker', 'other', '1', 1, ${world.now}, clock_timestamp(), 1, 0, 0, 0,
        ${world.now})`,
    end: ({ world }) => world.sql`delete from process where id = 'full'`,
  },
  'a process allows what is refused otherwise': {
    raises: ['safety_loosened'],
    cause: ({ world }) => world.sql`
      insert into loosened_setting (name, seen_at) values ('PENSTOCK_ALLOW_X', ${world.now})`,
    end: ({ world }) => world.sql`
      delete from loosened_setting where name = 'PENSTOCK_ALLOW_X'`,
  },
}

/** More than any pool has, and than any wallet carries. */
const MUCH = 1_000_000_000_000n
const TX_ID = '0'.repeat(64)

const HOUSE_ADDRESS = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t'

/** Makes an id as a process would, at that moment. */
const idAt = ({ now }: World) => idMaker({ now: () => now }, systemRandom)()

/** A check that has ended. */
const insertCheck = (world: World, customer_id: string, state: string, error: string | null) =>
  world.sql`
    insert into aml_check (id, customer_id, type, network, address, state, price_sun, solid_number,
      due_at, created_at, ended_at, error, risk_score, risk_level)
    values (${idAt(world)}, ${customer_id}, 'address', 'TRX', 'T', ${state}, 0, 1, ${world.now},
      ${world.now}, ${world.now}, ${error}, ${state === 'completed' ? '1.0' : null},
      ${state === 'completed' ? 'low' : null})`

/** Blocks were copied to ClickHouse three hours ago, and none since: what was not released was put
 *  there again just now. */
async function archiveSince(
  { sql, now }: World,
  { last_number, released }: { last_number: number; released: boolean },
): Promise<void> {
  const copied_at = new Date(now.getTime() - 10_800_000)
  await sql`
    update flow_archive set state = 'begun', begun_at = ${copied_at}, begun_by = 'test'`
  await sql`
    insert into flow_archive_portion
      (first_number, last_number, transfers, copied_at, put_at, released_at)
    values (${last_number}, ${last_number}, 0, ${copied_at}, ${released ? copied_at : now},
      ${released ? copied_at : null})`
}

function endArchive({ world }: { world: World }) {
  return world.sql`update flow_archive set state = 'ended'`
}

async function refresh(world: World, download: Download): Promise<void> {
  const { sql } = world
  await sql`update list set url = 'http://127.0.0.1/', refresh_hours = 1 where code = 'operator'`
  const step = refreshStep({ sql, clock: { now: () => world.now }, download })
  await step.run().catch(() => {})
  await sql`update list set url = null, refresh_hours = null where code = 'operator'`
}

let webhook_id = ''
let chain = ''

async function buy({ world, anna }: Pick<Stage, 'world' | 'anna'>): Promise<void> {
  await anna.buyEnergy(world.person('bob', 1).address, 65_000)
}

async function signAgain({ world, at }: Stage): Promise<void> {
  await at.json('signer', 'go', '--reason', 'found again')
  await world.advance(60)
  await world.settle()
  await world.solidify()
  await world.settle()
  await world.solidify()
}

test('each alert is told when its cause is there and when it is gone', async (t) => {
  const world = await makeWorld(t, { watches_books: true })
  const { sql } = world
  const at = await worldOperator(world)
  const anna = await world.customer({ trx: 500, scopes: ['read', 'buy', 'webhooks'] })
  const watch = watchAlertsStep({ sql, clock: { now: () => world.now } })
  assert.ok(watch.rest_ms <= 5_000, 'each is looked for three times in 15 s')
  const raised = async () => {
    await watch.run()
    const rows = await sql<{ alert: string }>`select alert from alert order by alert`
    const { code, out } = await at.type('status', '--json')
    const { alerts } = JSON.parse(out) as { alerts: { alert: string }[] }
    const said = new Set(alerts.map(({ alert }) => alert))
    assert.deepEqual(
      rows.map(({ alert }) => alert),
      [...said].sort(),
    )
    assert.equal(code, said.size > 0 ? 1 : 0)
    return said
  }
  // The keys of a world may do everything; each time that they are looked at, that is forgotten.
  const allowKeys = () => sql`update wallet_check set complaints = '{}'`
  for (const [what, { raises, cause, end }] of Object.entries(CASES)) {
    await cause({ world, anna, at })
    const during = await raised()
    for (const alert of raises) assert.ok(during.has(alert), `${what}: ${alert} is not raised`)
    await end({ world, anna, at })
    await allowKeys()
    assert.deepEqual([...(await raised())], [], what)
  }
  const names = new Set(Object.values(CASES).flatMap(({ raises }) => raises))
  assert.deepEqual([...names].sort(), Object.keys(ALERTS).sort(), 'every alert has a case')
  await world.drain()
  for (const alert of names) assert.deepEqual(await lastTwo(world, alert), ['raised', 'cleared'])
})

async function lastTwo({ sql }: World, alert: string): Promise<string[]> {
  const events = await listEvents(sql, { customer_id: HOUSE, after: 0n, limit: 1_000 })
  return events
    .filter(({ subject }) => subject === `alert:${alert}`)
    .slice(-2)
    .map(({ type }) => type.replace('alert.', ''))
}

test('a chain that is put hours ahead raises nothing, and status ends well', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 10 })
  const at = await worldOperator(world)
  const wrong: string[] = []
  const looks = async () => {
    const { code, out } = await at.type('status')
    if (code !== 0) wrong.push(out.slice(out.indexOf('alerts')))
  }
  await buy({ world, anna })
  await world.settle()
  world.scene.wait(2 * 3_600)
  // Until what is over is taken back, block by block.
  for (let blocks = 0; blocks < 25; blocks++) {
    await world.drain()
    await looks()
    world.scene.mine(1)
    world.wait(3)
  }
  assert.deepEqual(wrong, [])
  const [row] = await world.sql<{ state: string }>`select state from delegation`
  assert.equal(row!.state, 'ended')
})
