import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { ago, now, OrderBook } from 'penstock-test/harness/order_book.ts'
import { firstIdAt } from '../../lib/ids.ts'
import { listTransactions } from './transactions.ts'

const at = (minute: number) => new Date(Date.UTC(2026, 9, 8, 12, minute))
const idAt = (minute: number) => `${firstIdAt(at(minute)).slice(0, 25)}1`

test('purchases are found by each filter alone, with an address and without', async (t) => {
  const { sql } = await freshDatabase(t)
  const rows: [customer: string, service: string, address: string, state: string][] = [
    ['anna', 'energy', 'bob', 'new'],
    ['anna', 'energy', 'bob', 'failed'],
    ['anna', 'bandwidth', 'bob', 'new'],
    ['anna', 'energy', 'nina', 'new'],
    ['bert', 'energy', 'bob', 'new'],
  ]
  for (const [i, [customer, service, address, state]] of rows.entries()) {
    const [energy, bandwidth] = service === 'energy' ? [1, 0] : [0, 1]
    await sql`
      insert into orders (id, customer_id, external_id, key_id, service, address, energy, bandwidth,
        activate, state, to_delegate, amount_sun, due_at, created_at)
      values (${idAt(i)}, ${customer}, ${`x${i}`}, ${`key ${i % 2}`}, ${service}, ${address},
        ${energy}, ${bandwidth}, false, ${state}, false, 0, ${at(i)}, ${at(i)})`
  }
  type Filter = Partial<Parameters<typeof listTransactions>[1]>
  const cases: [wanted: Filter, all: number[]][] = [
    [{}, [3, 2, 1, 0]],
    [{ status: 'new' }, [3, 2, 0]],
    [{ service: 'energy' }, [3, 1, 0]],
    [{ external_id_prefix: 'x1' }, [1]],
    [{ external_id_prefix: '1' }, []],
    [{ key_id: 'key 0' }, [2, 0]],
    [{ since: at(1) }, [3, 2, 1]],
    [{ until: at(2) }, [1, 0]],
    [{ before: idAt(2) }, [1, 0]],
    [{ before: idAt(1), until: at(2) }, [0]],
    [{ before: idAt(2), until: at(1) }, [0]],
    [{ customer_id: 'bert' }, [4]],
  ]
  const found = async (wanted: Filter) => {
    const page = await listTransactions(sql, { customer_id: 'anna', limit: 9, ...wanted })
    assert.equal(page.next, null)
    return page.orders.map(({ created_at }) => created_at.getUTCMinutes())
  }
  for (const [wanted, all] of cases) {
    const title = JSON.stringify(wanted)
    assert.deepEqual(await found(wanted), all, title)
    const of_bob = all.filter((minute) => minute !== 3)
    assert.deepEqual(await found({ ...wanted, address: 'bob' }), of_bob, `${title} of bob`)
  }
  for (const address of [undefined, 'bob']) {
    const all = { customer_id: 'anna', address, until: at(3) }
    assert.equal((await listTransactions(sql, { ...all, limit: 3 })).next, null)
    const { orders, next } = await listTransactions(sql, { ...all, limit: 2 })
    assert.deepEqual([orders.length, next], [2, idAt(1)], 'a page that is full has one after it')
  }
})

test('a purchase is delivered with its last part, and over when all of it is back', async (t) => {
  const book = await OrderBook.of(t)
  const { sql } = book
  const seconds = (more: number) => new Date(now.getTime() + more * 1_000)
  type Part = [state: string, delegated: number, reclaimed?: number]
  type Moments = [delivered: number | null, ended: number | null]
  const cases: [state: string, parts: Part[], found: Moments, activated?: boolean][] = [
    ['success', [['active', 1]], [1, null]],
    [
      'success',
      [
        ['active', 1],
        ['reclaiming', 2],
      ],
      [2, null],
    ],
    [
      'success',
      [
        ['ended', 1, 11],
        ['reclaiming', 2],
      ],
      [2, null],
    ],
    [
      'success',
      [
        ['ended', 1, 11],
        ['active', 0],
      ],
      [1, null],
    ],
    [
      'success',
      [
        ['ended', 1, 11],
        ['failed', 0],
        ['delegating', 0],
      ],
      [1, 11],
    ],
    ['failed', [['ended', 1, 11]], [null, 11]],
    ['pending', [['active', 1]], [null, null]],
    ['success', [], [0, null], true],
    ['success', [['active', 3]], [3, null], true],
    ['pending', [], [null, null], true],
    ['success', [], [null, null]],
  ]
  await book.activation('other', 'active')
  await sql`update attempt set block_time = ${seconds(50)}`
  for (const [i, [state, parts, , activated]] of cases.entries()) {
    const id = `o${String(i).padStart(2, '0')}`
    if (activated) await book.activation(id, 'active')
    await book.order(id, { state, ...(activated && { activation_id: id }) })
    for (const [part, delegated, reclaimed] of parts) {
      await book.delegation(id, part)
      const back = reclaimed === undefined ? null : seconds(reclaimed)
      await sql`
        update delegation set reclaimed_at = ${back},
          delegated_at = case when delegated_at is not null then ${seconds(delegated)}::timestamptz
            end
        where id = ${`${id} ${part}`}`
    }
  }
  const { orders } = await listTransactions(sql, { customer_id: 'anna', limit: 99 })
  const since = (time: Date | null) => time && (time.getTime() - now.getTime()) / 1_000
  assert.deepEqual(
    orders.map((order) => [since(order.delivered_at), since(order.ended_at)]).reverse(),
    cases.map(([, , found]) => found),
  )
  const { orders: of_one } = await listTransactions(sql, { customer_id: 'anna', limit: 1 })
  assert.deepEqual(
    of_one.map(({ id }) => id),
    ['o10'],
  )
})

test('what a success took is from its acceptance to its charge, not below nothing', async (t) => {
  const book = await OrderBook.of(t)
  const charge = (id: string, kind: string, ms: number) => book.sql`
    insert into transfer (id, kind, hold_id, debit, credit, amount_sun, made_at)
    values (${`resolved ${id}`}, ${kind}, ${`order:${id}`}, 'customer:anna', 'revenue', 1,
      ${new Date(ago(1).getTime() + ms)})`
  const cases: [state: string, kind: string | undefined, ms: number, took: number | null][] = [
    ['success', 'capture', 1_234, 1_234],
    ['success', 'capture', 0, 0],
    // The clock was set back in between.
    ['success', 'capture', -1, null],
    ['success', undefined, 0, null],
    ['failed', 'release', 1_234, null],
  ]
  for (const [i, [state, kind, ms]] of cases.entries()) {
    await book.order(`o${i}`, { state })
    if (kind) await charge(`o${i}`, kind, ms)
  }
  const { orders } = await listTransactions(book.sql, { customer_id: 'anna', limit: 9 })
  assert.deepEqual(
    orders.map(({ delivered_ms }) => delivered_ms).reverse(),
    cases.map(([, , , took]) => took),
  )
})

test('a page looks at 5,000 purchases of its own, and says where the next begins', async (t) => {
  const { sql } = await freshDatabase(t)
  const from = firstIdAt(at(0))
  // One before what is asked for, and one behind it; and one of another customer in between.
  await sql`
    insert into orders (id, customer_id, service, address, energy, activate, to_delegate,
      amount_sun, due_at, created_at)
    select id, customer, 'energy', 'bob', 1, false, false, 0, ${at(0)}, ${at(0)}
    from (
      select ${from}::text || case i when 0 then '' else lpad(i::text, 4, '0') end as id,
        'anna' as customer from generate_series(0, 5000) as i
      union all select ${idAt(-1)}, 'anna'
      union all select ${from}::text || '3000x', 'bert') as o`
  const wanted = { customer_id: 'anna', status: 'failed', limit: 2 }
  const next = async (more: Partial<Parameters<typeof listTransactions>[1]>) => {
    const page = await listTransactions(sql, { ...wanted, ...more })
    assert.deepEqual(page.orders, [])
    return page.next
  }
  const before = `${from}5000`
  assert.equal(await next({}), `${from}0001`)
  assert.equal(await next({ before }), from)
  assert.equal(await next({ since: at(0), before }), from)
  assert.equal(await next({ since: new Date(at(0).getTime() + 1), before }), null)
  assert.equal(await next({ since: at(0), before: `${from}4999` }), null)
  assert.equal(await next({ address: 'bob' }), null, 'an address has an index of its own')
  assert.equal(await next({ customer_id: 'bert' }), null)
  const first = { customer_id: 'anna', since: at(0), before: `${from}0001`, limit: 2 }
  for (const address of [undefined, 'bob']) {
    const page = await listTransactions(sql, { ...first, address })
    assert.deepEqual(
      page.orders.map(({ id }) => id),
      [from],
      'one of that very moment is on it',
    )
  }
})
