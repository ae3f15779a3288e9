// What deploy/ gives to Prometheus and Grafana: fresh, taken by Prometheus' own tool, and about
// nothing that the service does not show.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { ALERT_ENTRIES } from 'penstock-service/health/monitoring/alert_entries.ts'
import { ALERTS } from 'penstock-service/health/monitoring/alerts.ts'
import { METRICS } from 'penstock-service/health/monitoring/measures.ts'
import { silentLog } from 'penstock-service/lib/log.ts'
import { startWatching } from 'penstock-service/run/program/admin.ts'
import { parse } from 'yaml'
import { ruleName } from '../../tools/monitoring/rules.ts'
import { printMonitoring } from '../../tools/print.ts'
import { ROOT } from '../../tools/source.ts'
import { without } from '../harness/programs.ts'

const run = promisify(execFile)
const NO_PROMTOOL = without(['promtool'], "Debian's package prometheus brings it")

const prometheus = join(ROOT, 'deploy/prometheus')
const deployed = globSync('deploy/{prometheus,grafana}/*', { cwd: ROOT })
const textOf = (path: string) => readFileSync(join(ROOT, path), 'utf8')

type Dashboard = {
  uid: string
  panels: { id: number; title: string; targets: { expr: string }[] }[]
}
const dashboards = deployed
  .filter((path) => path.endsWith('.json'))
  .map((path) => JSON.parse(textOf(path)) as Dashboard)
const expressions = dashboards.flatMap(({ panels }) =>
  panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
)

test('rules and dashboards are what their tables print now (if not: npm run print)', async () => {
  for (const [file, text] of await printMonitoring())
    assert.ok(text === (await readFile(file, 'utf8')), `${relative(ROOT, file)} is not fresh`)
})

test('every metric that is asked for is one that a running process shows', async (t) => {
  const data_dir = await mkdtemp(join(tmpdir(), 'penstock-metrics-'))
  const monitor = await startWatching(
    { role: 'all', admin_port: 0, admin_host: '127.0.0.1', data_dir, standbys: 0, loosened: [] },
    silentLog,
  )
  t.after(async () => {
    await monitor.close()
    await rm(data_dir, { recursive: true })
  })
  const text = await (await fetch(`${monitor.admin_url}/metrics`)).text()
  const shown = new Map(
    Array.from(text.matchAll(/^# TYPE (\w+) (\w+)$/gm), ([, name, kind]) => [name!, kind!]),
  )
  for (const name of Object.keys(METRICS)) assert.ok(shown.has(`penstock_${name}`), name)
  const asked = deployed.flatMap((path) =>
    Array.from(textOf(path).matchAll(/\bpenstock_[a-z_]+/g), ([name]) => ({ path, name })),
  )
  assert.ok(asked.length > 100)
  for (const { path, name } of asked) {
    const whole = name.replace(/_(bucket|count|sum)$/, '')
    const kind = shown.get(name) ?? shown.get(whole)
    assert.ok(kind, `${path} asks for ${name}`)
    assert.equal(kind === 'histogram', name !== whole, `${path} asks for ${name}, a ${kind}`)
  }
})

test('each alert has its meaning in the docs and a rule, and each metric its panel', () => {
  type Rules = { groups: { rules: { alert?: string }[] }[] }
  const { groups } = parse(textOf('deploy/prometheus/rules.yml')) as Rules
  const rules = groups.flatMap((group) => group.rules.map(({ alert }) => alert))
  const names = Object.keys(ALERTS)
  assert.deepEqual(
    names.filter((name) => !rules.includes(ruleName(name))),
    [],
  )
  assert.deepEqual(Object.keys(ALERT_ENTRIES).sort(), [...names].sort())
  const all = expressions.join('\n')
  for (const name of Object.keys(METRICS))
    assert.match(all, new RegExp(`\\bpenstock_${name}(_bucket)?\\b`), name)
  const uids = dashboards.map(({ uid }) => uid)
  assert.equal(new Set(uids).size, uids.length)
})

test('promtool takes the rules, and each alert is raised and over', {
  skip: NO_PROMTOOL,
}, async () => {
  const promtool = (...args: string[]) => run('promtool', args, { cwd: prometheus })
  await promtool('check', 'config', 'prometheus.yml')
  assert.match((await promtool('check', 'rules', 'rules.yml')).stdout, /SUCCESS/)
  assert.match((await promtool('test', 'rules', 'rules_test.yml')).stdout, /SUCCESS/)
})

test('promtool takes what the dashboards ask', { skip: NO_PROMTOOL }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-dashboards-'))
  t.after(() => rm(folder, { recursive: true }))
  const rules = expressions.map((expr, i) => ({
    record: `asked:${i}`,
    expr: expr.replaceAll('$__rate_interval', '1m'),
  }))
  const file = join(folder, 'rules.yml')
  const check = async (all: object[]) => {
    await writeFile(file, JSON.stringify({ groups: [{ name: 'dashboards', rules: all }] }))
    return run('promtool', ['check', 'rules', file])
  }
  assert.match((await check(rules)).stdout, new RegExp(`SUCCESS: ${rules.length} rules`))
  await assert.rejects(check([{ record: 'asked:wrong', expr: 'sum(rate(penstock_ready[1m])' }]))
})
