// `npm run torture -- sim --runs N --seed S --json`
import { parseArgs } from 'node:util'
import { openGround } from './simulator/ground.ts'
import { runSeed } from './simulator/run.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { runs: { type: 'string' }, seed: { type: 'string' }, json: { type: 'boolean' }, trace: { type: 'string' } },
})
const ground = await openGround()
const runs = Number(values.runs ?? 1)
const first = Number(values.seed ?? 1)
const start = performance.now()
const totals: Record<string, number> = {}
let bad = 0
for (let i = 0; i < runs; i++) {
  const t = performance.now()
  const v = await runSeed(ground, String(first + i))
  for (const [k, n] of Object.entries(v.counts)) totals[k] = (totals[k] ?? 0) + n
  const ms = performance.now() - t
  if (v.findings.length > 0) {
    bad++
    console.log(`seed ${v.seed} FAILED (${v.trace.digest})`)
    console.log(v.trace.last(Number(values.trace ?? 25)))
    console.log(v.findings.slice(0, 5).join('\n'))
  } else if (runs < 20) console.log(`seed ${v.seed} ok ${ms.toFixed(0)} ms ${v.trace.digest} ${v.trace.title}`)
}
console.log(positionals, runs, 'runs', bad, 'bad', ((performance.now() - start) / runs).toFixed(0), 'ms/run', totals)
await ground.close()
process.exit(0)
