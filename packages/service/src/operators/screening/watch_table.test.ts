import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readWatchTable } from './watch_table.ts'

const [ANNA, BERT] = ['TGVpXaZff9J1CzMfoSheN6swLB1yeRx3p8', 'TNHpm3KkhGDBKCfHnzmQbXgHZwNLjPPkDZ']

const read = (text: string) =>
  readWatchTable(
    (async function* () {
      yield Buffer.from(text)
    })(),
  )

test('a file of watches is read with its rules', async () => {
  const text =
    'address,reference,any_incoming_usd,severe_share_bp,severe_usd,sent_to\n' +
    `${ANNA},supplier 17,1000,500,700,true\n${BERT},,,,,\n`
  assert.deepEqual(await read(text), [
    {
      address: ANNA,
      reference: 'supplier 17',
      rules: { any_incoming_usd: 1_000n, severe_share_bp: 500, severe_usd: 700n, sent_to: true },
    },
    {
      address: BERT,
      rules: { any_incoming_usd: null, severe_share_bp: null, severe_usd: null, sent_to: false },
    },
  ])
})

test('a mistake refuses the whole file, with its line', async () => {
  const cases: [text: string, said: RegExp][] = [
    ['', /no address/],
    ['address\n', /no address/],
    [`address\n${ANNA}\nT123\n`, /line 3: "T123" is not an address/],
    [`address\n${ANNA.slice(0, -1)}9\n`, /line 2: .* is not an address/],
    [`adress\n${ANNA}\n`, /column "adress"/],
    [`address,note\n${ANNA},x\n`, /column "note"/],
    [`address\n${ANNA}\n${ANNA}\n`, /line 3: .* is there twice/],
    [`address,severe_share_bp\n${ANNA},5%\n`, /line 2: severe_share_bp "5%"/],
    [`address,severe_share_bp\n${ANNA},0\n`, /line 2: severe_share_bp "0"/],
    [`address,severe_share_bp\n${ANNA},10001\n`, /line 2: severe_share_bp/],
    [`address,severe_share\n${ANNA},0.5\n`, /column "severe_share"/],
    [`address,severe_usd\n${ANNA},0\n`, /line 2: severe_usd "0"/],
    [`address,severe_usd\n${ANNA},-5\n`, /line 2: severe_usd "-5"/],
    [`address,any_incoming_usd\n${ANNA},1e3\n`, /line 2: any_incoming_usd "1e3"/],
    [`address,any_incoming_usd\n${ANNA},12345678901234\n`, /line 2: any_incoming_usd/],
    [`address,sent_to\n${ANNA},yes\n`, /line 2: sent_to "yes"/],
    [`address,reference\n${ANNA},${'x'.repeat(101)}\n`, /line 2: the reference is longer/],
    [`address\n"${ANNA}\n`, /quote/i],
  ]
  for (const [text, said] of cases) await assert.rejects(read(text), said, text)
})
