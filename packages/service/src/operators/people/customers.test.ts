// Operators' hands on customers: what is locked, and in which order.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operatorWithCustomer } from 'penstock-test/harness/operator.ts'
import { customerAccount } from '../../ledger/accounts/ledger.ts'

test('closing a customer waits for its account before its keys', async (t) => {
  const { type, json, sql, customer } = await operatorWithCustomer(t)
  const { key_id } = await json<{ key_id: string }>('keys', 'issue', customer)
  let closing: ReturnType<typeof type> | undefined
  await sql.begin(async (tx) => {
    await tx`select 1 from account where id = ${customerAccount(customer)} for update`
    closing = type('customers', 'close', customer)
    const [me] = await tx<{ pid: number }>`select pg_backend_pid() as pid`
    for (let waits = 0n; waits === 0n; ) {
      const [row] = await sql<{ waits: bigint }>`
        select count(*) as waits from pg_stat_activity
          where ${me!.pid}::integer = any(pg_blocking_pids(pid))`
      waits = row!.waits
    }
    // What `keys revoke` locks after the account, and what a correction refers to.
    assert.equal(
      (await tx`select 1 from api_key where id = ${key_id} for no key update nowait`).length,
      1,
    )
    assert.equal(
      (await tx`select 1 from customer where id = ${customer} for key share nowait`).length,
      1,
    )
  })
  assert.equal((await closing!).code, 0)
})
