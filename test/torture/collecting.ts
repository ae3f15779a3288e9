// `npm run torture -- collecting`: the operator's program collects what lies on deposit addresses,
// TRX and a token in one signing, and is killed with SIGKILL at every point: while it asks, when
// the database has the batch and no file is there yet, while it writes the file, while it signs,
// and at requests all along while it sends, before the node has taken them and after. At the end
// nothing was collected twice, nothing was left out, and the books hold, to the sun.

import { USDT } from 'penstock-tron/tokens.ts'
import { readArguments } from '../../tools/arguments.ts'
import { collectingTown } from '../harness/collecting.ts'
import { collectKilled, type Kill } from '../harness/collecting_killed.ts'
import { openWorld } from '../harness/world.ts'

const SIGN_MS = [300, 600, 900, 1_200, 1_600, 2_000, 2_600, 3_400]

export async function run(args: string[]): Promise<boolean> {
  const { numbers, json } = readArguments(args, {
    numbers: { addresses: 1_000, 'with-token': 200, kills: 24 },
  })
  const { addresses, 'with-token': with_token, kills: wanted } = numbers
  const world = await openWorld({ tokens: [USDT] })
  try {
    const town = await collectingTown(world, { addresses, with_token, from_trx: 40n })
    const collect: Kill[] = [1, 2, 3, 5, Math.ceil(addresses / 2), addresses].map((request, i) => ({
      request,
      answered: i % 2 === 1,
    }))
    // Each transfer is a request at least, and each of the last runs sends all that is left.
    const every = Math.max(1, Math.floor((addresses + with_token) / wanted))
    const figures = await collectKilled(town, { collect, sign_ms: SIGN_MS, every })
    await town.end()
    process.stdout.write(`${JSON.stringify(figures, null, json ? 0 : 2)}\n`)
    return true
  } finally {
    await world.discard()
  }
}
