// A running `npm start`, found by its data folder.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Refusal } from '../line/errors.ts'

/** What `npm start` tells of itself in its data folder. */
export type Sandbox = {
  api_url: string
  node_url: string
  customer: { token: string; secret: string; deposit_address: string }
  funded_accounts: { address: string }[]
  /** The sample token, where the chain is its own. */
  token?: { address: string }
}

/** Throws Refusal when nothing is running there. */
export async function readSandbox(folder: string): Promise<Sandbox> {
  const file = join(folder, 'ready.json')
  const text = await readFile(file, 'utf8').catch(() => {
    throw new Refusal(`No sandbox is running in ${folder}: there is no ${file}. npm start first.`)
  })
  return JSON.parse(text) as Sandbox
}
