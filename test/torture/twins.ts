// `npm run torture -- twins`: a thousand calls at once with one external_id, over HTTP, at two API
// processes. One order may come of them, charged once, and all must be answered alike.

import { signedCall } from '../../bench/parts/load.ts'
import { readArguments } from '../../tools/arguments.ts'
import { Rig } from './rig.ts'

const say = (line: string) => process.stdout.write(`${line}\n`)

type Reply = { code: number; result?: Record<string, unknown> }

/** What every answer to the same purchase must say alike. */
const told = ({ code, result = {} }: Reply) =>
  JSON.stringify([code, result.id, result.amount, result.external_id])

export async function run(args: string[]): Promise<boolean> {
  const { numbers, json } = readArguments(args, { numbers: { twins: 1_000, rounds: 3 } })
  const { twins, rounds } = numbers
  const rig = await Rig.open()
  const result = {
    twins,
    rounds,
    orders: 0,
    charges: 0,
    answers: 0,
    failed: 0,
    findings: [] as string[],
  }
  try {
    await Promise.all([rig.start('api'), rig.start('api'), rig.start('worker')])
    await rig.fund()
    const calls = rig.api_urls.map((url) => signedCall(url, rig.customers[0]!))
    const params = {
      address: rig.sandbox.funded_accounts[0]!.address,
      amount: 65_000,
      duration: 1,
    }
    for (let round = 0; round < rounds; round++) {
      const body = { service: 'energy', params, external_id: `twin-${round}` }
      const asked = Array.from({ length: twins }, (_, i) =>
        calls[i % calls.length]!('/v1/transaction/new', body),
      )
      const replies = (await Promise.all(asked)) as Reply[]
      result.failed += replies.filter(({ code }) => code !== 0).length
      result.answers += new Set(replies.map(told)).size
    }
    const [rows] = await rig.sql<{ orders: bigint; charges: bigint }>`
      select (select count(*) from orders) as orders, (select count(*) from transfer
        where kind = 'hold') as charges`
    result.orders = Number(rows!.orders)
    result.charges = Number(rows!.charges)
    result.findings = await rig.lookAtRest()
  } finally {
    await rig.close()
  }
  say(JSON.stringify(result, null, json ? 0 : 2))
  const once = [result.orders, result.charges, result.answers].every((count) => count === rounds)
  return once && result.failed === 0 && result.findings.length === 0
}
