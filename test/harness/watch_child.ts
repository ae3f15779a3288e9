// A process that screens watched addresses from what a database has, for the test that kills it:
// it stops when the named step has moved something, and says so. The clock stands at the given
// instant.

import { idMaker, systemRandom } from 'penstock-service/lib/ids.ts'
import { connect } from 'penstock-service/platform/database/sql.ts'
import { screenStep } from 'penstock-service/screening/checks/answering.ts'
import { watchBlocksStep } from 'penstock-service/screening/checks/watch_blocks.ts'
import { rescreenStep } from 'penstock-service/screening/checks/watches.ts'
import { flowGenerations } from 'penstock-service/screening/tracing/generations.ts'

const [url = '', now_ms = '', carried_blocks = '', last_step = ''] = process.argv.slice(2)
const sql = connect({ url })
const clock = { now: () => new Date(Number(now_ms)) }
const flow = {
  sql,
  clock,
  carried_blocks: Number(carried_blocks),
  checkpoint_transfers: 1_000_000,
}
const generations = flowGenerations(flow)
const reads = () => {
  throw new Error('no node is asked about an address')
}
const steps = [
  watchBlocksStep({ sql }),
  generations.step,
  rescreenStep({ sql, clock, new_id: idMaker(clock, systemRandom), generations }),
  screenStep({ ...flow, reads, generations, issuers: { ask: async () => {} } }),
]
for (let moved = true; moved; ) {
  moved = false
  for (const step of steps)
    while (await step.run()) {
      moved = true
      if (step.name !== last_step) continue
      process.stdout.write(`${last_step}\n`)
      // Until it is killed.
      await new Promise((resolve) => setTimeout(resolve, 600_000))
    }
}
await sql.close()
