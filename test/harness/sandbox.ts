// Everything that `npm start` starts, in this process and on a database of its own, for tests that
// meet the service as its customers do: over HTTP, with the real time.

import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sandboxSignIn } from 'penstock-playground/sign_in.ts'
import { type LocalService, newCustomer, startLocal } from 'penstock-playground/start.ts'
import { readConfig } from 'penstock-service/config.ts'
import { silentLog } from 'penstock-service/lib/log.ts'
import { correct } from 'penstock-service/treasury/corrections/corrections.ts'
import { openBuild } from 'penstock-web/build/store.ts'
import { createDatabase, dropDatabase } from './database.ts'

export type Sandbox = LocalService & {
  /** Stops everything and starts it again on what it has left, at the same address. What reaches
   *  into the process that was stopped (`sql`, `app`) is over, and replaced in what startSandbox
   *  has returned. */
  restart(): Promise<void>
}

/** Where tests put the pages together, once for all. */
export const BUILT_PAGES = join(tmpdir(), 'penstock-web')

/** Lets a service with this data folder find the pages as others have put them together. Throws
 *  what is wrong with their sources: tests would wait for a page that never comes. */
export async function sharePages(data_dir: string): Promise<void> {
  await mkdir(BUILT_PAGES, { recursive: true })
  await openBuild(BUILT_PAGES)
  await symlink(BUILT_PAGES, join(data_dir, 'web'))
}

/** A sandbox; `close` removes it again. `env`: more of its settings. */
export async function startSandbox({
  at = '0',
  env = {},
}: {
  at?: string
  env?: Readonly<Record<string, string>>
} = {}): Promise<Sandbox> {
  const data_dir = await mkdtemp(join(tmpdir(), 'penstock-sandbox-'))
  await sharePages(data_dir)
  const { url, name } = await createDatabase()
  const args = ['--chain-port', '0', '--data-dir', data_dir]
  const start = (port: string) => {
    const set = { ...env, DATABASE_URL: url }
    const { help: _, ...config } = readConfig([...args, '--port', port], set)
    return startLocal({ config, log: silentLog, block_time_seconds: 0.5 })
  }
  const first = await start(at)
  let running: LocalService | undefined = first
  const close = async () => {
    await running?.close()
    await rm(data_dir, { recursive: true, force: true, maxRetries: 5 })
    await dropDatabase(name)
  }
  const restart = async () => {
    const stopped = running
    running = undefined
    await stopped?.close()
    running = await start(new URL(first.api_url!).port)
    Object.assign(sandbox, running, { close, restart })
  }
  const sandbox: Sandbox = { ...first, close, restart }
  return sandbox
}

const MONEY_SUN = 10_000_000_000n

/** The same sandbox with another customer, who has money, a key that may do everything and an owner
 *  with a link. */
export async function addCustomer(sandbox: Sandbox): Promise<Sandbox> {
  const { sql, app } = sandbox
  const customer = await newCustomer(sandbox, 'another')
  const { customer_id } = customer
  const made = { made_at: new Date(), made_by: 'test', reason: 'to try things with' }
  const money = { customer_id, amount_sun: MONEY_SUN, invoice_number: null }
  await sql.begin((tx) => correct(tx, { id: app.new_id(), ...money, ...made }))
  const sign_in = await sandboxSignIn({ public_url: undefined }, sandbox, customer)
  return { ...sandbox, customer, sign_in }
}
