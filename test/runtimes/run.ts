// `npm run runtimes -w penstock-sdk [-- --only NAME] [--cache FOLDER]`: the SDK, packed and
// installed, on every runtime that it is for, against a whole service. What is fetched is kept in
// the folder: `penstock-sdk-runtimes` beside other temporary things, unless it is named.
//
// Exit code 0: it works on all of them; 1: on some it does not, or it could not be tried there.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startSandbox } from '../harness/sandbox.ts'
import { fetchRuntime, prepareFolder, RUNTIMES } from './runtimes.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    cache: { type: 'string', default: join(tmpdir(), 'penstock-sdk-runtimes') },
  },
})

const say = (line: string) => process.stdout.write(`${line}\n`)

const chosen = RUNTIMES.filter(({ name }) => name.includes(values.only))
const folder = await mkdtemp(join(tmpdir(), 'penstock-sdk-'))
await prepareFolder(folder)
const sandbox = await startSandbox()
const { api_url: url, customer } = sandbox
const { address } = sandbox.sandbox.funded_accounts[0]!
const access = { url, token: customer.token, secret: customer.secret, address }
let failed = chosen.length === 0
for (const runtime of chosen) {
  try {
    const modules = await fetchRuntime(runtime, values.cache)
    const fetched = (name: string) => join(modules, name)
    const tried = await runtime.tries(access, { folder, fetched })
    say(`✔ ${runtime.name}: ${tried.length} things tried`)
  } catch (thrown) {
    failed = true
    say(`✖ ${runtime.name}: ${(thrown as Error).message}`)
  }
}
await sandbox.close()
await rm(folder, { recursive: true, force: true })
process.exit(failed ? 1 : 0)
