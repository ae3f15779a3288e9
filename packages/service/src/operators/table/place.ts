// The machine and the database that an operation works on, for those who run one.

import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { stopFile } from '../../chain/wallets/wallet_file.ts'
import { requireWritable, writeWhole } from '../../lib/files.ts'
import { hostUrls } from '../../platform/database/hosts.ts'

/** Where a database is, without what opens it. */
export function databasePlace(url: string): string {
  return hostUrls(url).map(placeOf).join(',')
}

function placeOf(url: string): string {
  const { hostname, port, pathname } = new URL(url)
  return `${hostname}:${port || 5432}${pathname}`
}

/** Whether a file in the data folder stops signing on this machine; puts it there or takes it away
 *  when told to. */
export async function stopSigningHere(
  data_dir: string,
  wanted: { stopped?: boolean | undefined; by?: string | undefined },
) {
  const file = stopFile(data_dir)
  if (wanted.stopped === true) {
    await requireWritable(data_dir)
    await writeWhole(file, `stopped by ${wanted.by}\n`)
  }
  if (wanted.stopped === false) await rm(file, { force: true })
  return existsSync(file)
}
