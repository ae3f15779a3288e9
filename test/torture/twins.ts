// `npm run torture -- twins`: a thousand calls at once with one external_id, over HTTP, at two API
// processes. One order may come of them, charged once, and all must be answered alike.

import { signedCall } from '../../bench/load.ts'
import { readArguments } from '../../tools/arguments.ts'
import { Stand } from './stand.ts'

const say = (line: string) => process.stdout.write(`${line}\n`)

type Reply = { code: number; result?: Record<string, unknown> }

/** What every answer to the same purchase must say alike. */
const told = ({ code, result = {} }: Reply) =>
  JSON.stringify([code, result.id, result.amount, result.external_id])

export async function run(args: string[]): Promise<boolean> {
  const { numbers, json } = readArguments(args, { numbers: { twins: 1_000, rounds: 3 } })
  const { twins, rounds } = numbers
  const stand = await Stand.open()
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
    await Promise.all([stand.start('api'), stand.start('api'), stand.start('worker')])
    await stand.fund()
    const calls = stand.api_urls.map((url) => signedCall(url, stand.customers[0]!))
    const params = {
      address: stand.sandbox.funded_accounts[0]!.address,
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
    const [rows] = await stand.sql<{ orders: bigint; charges: bigint }>`
      select (select count(*) from orders) as orders, (select count(*) from transfer
        where kind = 'hold') as charges`
    result.orders = Number(rows!.orders)
    result.charges = Number(rows!.charges)
    result.findings = await stand.lookAtRest()
  } finally {
    await stand.close()
  }
  say(JSON.stringify(result, null, json ? 0 : 2))
  const once = [result.orders, result.charges, result.answers].every((count) => count === rounds)
  return once && result.failed === 0 && result.findings.length === 0
}
