// A development chain in a process of its own, behind a node that allows as many requests a second
// as it is told: what it takes of the processor is none of the service's. It makes accounts to sell
// to on demand, thousands at a time, and writes their addresses into a file. Its garbage is
// collected then, so that it does not stand still for a tenth of a second while it is asked.

import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { startDevchain } from 'penstock-devchain/serve.ts'
import { startStrictNode } from 'penstock-test/harness/strict_node.ts'
import { addressFromHex } from 'penstock-tron/address.ts'

export type NodeTask = { accounts: number; file: string } | { allow: number | null } | 'counts'
export type NodeReply = { url: string } | { done: true } | { answered: number; refused: number }

const genesis_time_ms = Date.now() - 180_000
const { chain } = await startDevchain({ genesis_time_ms, block_time_seconds: 0 })
const front = await startStrictNode((method, path, body) => chain.request(method, path, body))

function makeAccounts(count: number, file: string): void {
  const addresses = Array.from({ length: count }, () =>
    addressFromHex(`41${randomBytes(20).toString('hex')}`),
  )
  for (const address of addresses) chain.fund(address, 1_000_000n)
  writeFileSync(file, addresses.join('\n'))
  globalThis.gc?.()
}

const reply = (said: NodeReply) => process.send!(said)

process.on('message', (task: NodeTask) => {
  if (task === 'counts') return void reply(front.counts)
  if ('accounts' in task) makeAccounts(task.accounts, task.file)
  else front.allow(task.allow ?? Number.POSITIVE_INFINITY)
  reply({ done: true })
})
process.on('disconnect', () => process.exit())
reply({ url: front.url })
