// A process that does nothing but index, for the test that kills it: says after each portion how far it is.

import { flowGenerations } from '../src/aml/generations.ts'
import { systemClock } from '../src/lib/clock.ts'
import { connect } from '../src/lib/sql.ts'

const [url = '', checkpoint_transfers = ''] = process.argv.slice(2)
const sql = connect({ url })
const generations = flowGenerations({
  ...{ sql, clock: systemClock, carried_blocks: 1_000_000 },
  checkpoint_transfers: Number(checkpoint_transfers),
})
while (await generations.step.run()) process.stdout.write('portion\n')
process.stdout.write(`done ${generations.current()!.index.block_number}\n`)
await sql.close()
