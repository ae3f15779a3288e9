import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
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
