// Everything that `npm start` starts, in this process and on a database of its own, for tests that
// meet the service as its customers do: over HTTP, with the real time.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type LocalService, startLocal } from 'penstock-playground/start.ts'
import { readConfig } from 'penstock-service/config.ts'
import { silentLog } from 'penstock-service/lib/log.ts'
import { createDatabase, dropDatabase } from './database.ts'

/** A sandbox; `close` removes it again. */
export async function startSandbox(): Promise<LocalService> {
  const data_dir = await mkdtemp(join(tmpdir(), 'penstock-sandbox-'))
  const { url, name } = await createDatabase()
  const args = ['--port', '0', '--chain-port', '0', '--data-dir', data_dir]
  const { help: _, ...config } = readConfig(args, { DATABASE_URL: url })
  const local = await startLocal({ config, log: silentLog, block_time_seconds: 0.5 })
  const close = async () => {
    await local.close()
    await rm(data_dir, { recursive: true, force: true, maxRetries: 5 })
    await dropDatabase(name)
  }
  return { ...local, close }
}
