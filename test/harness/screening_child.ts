// A process that does nothing but index, for the tests that kill it: says after each portion how
// far it is. It begins one portion more than it may and then waits for its end: a killer that is
// slow to hear of a portion does not let it come to the last. With a folder its index is on disk
// there.

import { systemClock } from 'penstock-service/lib/clock.ts'
import { connect } from 'penstock-service/platform/database/sql.ts'
import { KeptFolder } from 'penstock-service/screening/kept/kept_folder.ts'
import { flowGenerations } from 'penstock-service/screening/tracing/generations.ts'

const [url = '', checkpoint_transfers = '', portions_max = '', folder] = process.argv.slice(2)
const sql = connect({ url })
const generations = flowGenerations({
  sql,
  clock: systemClock,
  carried_blocks: 1_000_000,
  checkpoint_transfers: Number(checkpoint_transfers),
  kept: folder ? { folder: await KeptFolder.take(folder), hot_slots: 20 } : undefined,
})
for (let portions = 1; await generations.step.run(); portions++) {
  process.stdout.write('portion\n')
  if (portions > Number(portions_max)) await new Promise((resolve) => setTimeout(resolve, 600_000))
}
process.stdout.write(`done ${generations.current()!.index.block_number}\n`)
await generations.close()
await sql.close()
