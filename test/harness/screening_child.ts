// A process that does nothing but index, for the test that kills it: says after each portion how
// far it is.

import { systemClock } from 'penstock-service/lib/clock.ts'
import { connect } from 'penstock-service/platform/database/sql.ts'
import { flowGenerations } from 'penstock-service/screening/tracing/generations.ts'

const [url = '', checkpoint_transfers = ''] = process.argv.slice(2)
const sql = connect({ url })
const generations = flowGenerations({
  sql,
  clock: systemClock,
  carried_blocks: 1_000_000,
  checkpoint_transfers: Number(checkpoint_transfers),
})
while (await generations.step.run()) process.stdout.write('portion\n')
process.stdout.write(`done ${generations.current()!.index.block_number}\n`)
await sql.close()
