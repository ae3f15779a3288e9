// A process that does nothing but index, for the tests that kill it: says after each portion how
// far it is. With a folder its index is on disk there.

import { systemClock } from 'penstock-service/lib/clock.ts'
import { connect } from 'penstock-service/platform/database/sql.ts'
import { KeptFolder } from 'penstock-service/screening/kept/kept_folder.ts'
import { flowGenerations } from 'penstock-service/screening/tracing/generations.ts'

const [url = '', checkpoint_transfers = '', folder] = process.argv.slice(2)
const sql = connect({ url })
const generations = flowGenerations({
  sql,
  clock: systemClock,
  carried_blocks: 1_000_000,
  checkpoint_transfers: Number(checkpoint_transfers),
  kept: folder ? { folder: await KeptFolder.take(folder), hot_slots: 20 } : undefined,
})
while (await generations.step.run()) process.stdout.write('portion\n')
process.stdout.write(`done ${generations.current()!.index.block_number}\n`)
await generations.close()
await sql.close()
