// ClickHouse for tests: two servers that begin with the first test that asks.

import type { TestContext } from 'node:test'
import {
  type ClickHouseCluster,
  newDatabase,
  type OwnClickHouse,
  startClickHouse,
} from './clickhouse_servers.ts'
import { atEndOfProcess } from './ends.ts'

let cluster: Promise<ClickHouseCluster> | undefined

/** A database of the test's own; over both servers, if it is to be spread. */
export async function freshClickHouse(
  t: TestContext,
  { spread = false } = {},
): Promise<OwnClickHouse> {
  cluster ??= startClickHouse(atEndOfProcess)
  const { own, drop } = await newDatabase(await cluster, { spread })
  t.after(drop)
  return own
}
