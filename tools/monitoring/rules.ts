// The list of docs/operators/alerts.md, deploy/prometheus/rules.yml and the cases of `promtool test
// rules`, printed from the tables of alerts and from the objectives below. The service itself
// judges what an alert is; Prometheus judges what one process cannot know: whether all of them are
// there, and how calls went over hours.

import { ALERT_ENTRIES, type AlertEntry } from 'penstock-service/health/monitoring/alert_entries.ts'
import { ALERTS } from 'penstock-service/health/monitoring/alerts.ts'
import { stringify } from 'yaml'
import { filled } from '../filled.ts'

type AlertRule = {
  alert: string
  expr: string
  for?: string
  labels: { severity: 'critical' | 'warning' }
  annotations: { summary: string; action: string }
}
type RecordRule = { record: string; expr: string }
type Group = { name: string; interval?: string; rules: (AlertRule | RecordRule)[] }

/** While one of these is raised nothing is sold, or money may not be where it should. */
const CRITICAL: ReadonlySet<string> = new Set([
  'books_broken',
  'chain_behind',
  'chain_silent',
  'chain_unknown',
  'commit_unreplicated',
  'data_folder_unwritten',
  'database_went_back',
  'nodes_disagree',
  'standby_missing',
])

/** `chain_silent`: `PenstockChainSilent`. */
export const ruleName = (alert: string) =>
  `Penstock${alert.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}`

const oneLine = (text: string) => text.replace(/\s+/g, ' ').trim()
const sentence = (text: string) => {
  const line = oneLine(text)
  return `${line[0]!.toUpperCase()}${line.slice(1)}${/[.?]$/.test(line) ? '' : '.'}`
}

/** The words of the page for a rule. Markdown's links are left with their words alone. */
function annotationsOf({ means, act }: AlertEntry): AlertRule['annotations'] {
  const plain = (text: string) => sentence(text.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1'))
  return { summary: plain(means), action: plain(act) }
}

/** The list of alerts of docs/operators/alerts.md. */
export const printAlerts = (): string =>
  Object.entries(ALERT_ENTRIES)
    .map(([name, { means, act }]) => {
      const parts = [`  - what it means: ${means}`, `  - what to do: ${act}`]
      return `- \`${name}\`\n${parts.map((part) => filled(part, '    ')).join('')}`
    })
    .join('')

/** Alerts that no row of the database knows: whether processes are there, and say so. */
const PRESENCE: readonly AlertRule[] = [
  {
    alert: 'PenstockNoApi',
    expr: 'absent(penstock_build_info{role=~"api|all"})',
    for: '1m',
    labels: { severity: 'critical' },
    annotations: {
      summary: 'No process that answers customers is seen.',
      action: 'Start one, or look why Prometheus does not reach its admin port.',
    },
  },
  {
    alert: 'PenstockNoWorker',
    expr: 'absent(penstock_build_info{role=~"worker|all"})',
    for: '1m',
    labels: { severity: 'critical' },
    annotations: {
      summary: 'No process that delivers is seen: orders wait.',
      action: 'Start one, or look why Prometheus does not reach its admin port.',
    },
  },
  {
    alert: 'PenstockNotReady',
    expr: 'penstock_ready == 0',
    for: '1m',
    labels: { severity: 'warning' },
    annotations: {
      summary: 'A process is not ready.',
      action: 'GET /readyz on its admin port says why.',
    },
  },
  {
    alert: 'PenstockFiguresOld',
    expr: 'min(penstock_gauges_age_seconds) > 120',
    for: '1m',
    labels: { severity: 'warning' },
    annotations: {
      summary: 'Nobody reads what the database knows: its figures and alerts are old.',
      action: 'Look at the log of the workers for step_failed and the step measure.',
    },
  },
  {
    alert: 'PenstockStepFails',
    expr:
      'sum by (step) (increase(penstock_step_failures_total[15m])) > 0 ' +
      'unless sum by (step) (increase(penstock_step_moved_total[15m])) > 0',
    for: '15m',
    labels: { severity: 'warning' },
    annotations: {
      summary: 'A step fails again and again, and moves nothing.',
      action: 'Look at the log of the workers for step_failed and its name.',
    },
  },
]

/** A promise about calls, orders or checks over 28 days, and the share of them that keeps it. */
type Objective = { name: string; summary: string; goal: number; bad: (range: string) => string }

const slower = (metric: string, seconds: number) => (range: string) =>
  `1 - (sum(rate(penstock_${metric}_bucket{le="${seconds}"}[${range}])) ` +
  `/ sum(rate(penstock_${metric}_count[${range}])))`

const OBJECTIVES: readonly Objective[] = [
  {
    name: 'answers',
    summary: 'Calls are answered, and not with 500',
    goal: 0.999,
    bad: (range) =>
      `(sum(rate(penstock_http_requests_total{code="500"}[${range}])) or vector(0)) ` +
      `/ sum(rate(penstock_http_requests_total[${range}]))`,
  },
  {
    name: 'quick_answers',
    summary: 'Calls are answered within a second',
    goal: 0.999,
    bad: slower('http_request_seconds', 1),
  },
  {
    name: 'orders_sent',
    summary: 'Orders are sent to the chain within 5 seconds',
    goal: 0.99,
    bad: slower('order_sent_seconds', 5),
  },
  {
    name: 'orders_delivered',
    summary: 'Orders are in a block within 30 seconds',
    goal: 0.99,
    bad: slower('order_delivered_seconds', 30),
  },
  {
    name: 'checks_answered',
    summary: 'Screening checks are answered within 5 seconds',
    goal: 0.99,
    bad: slower('check_seconds', 5),
  },
]

/** How fast what may fail in 28 days is used up: over the long range, and still over the short. */
const BURNS = [
  { name: 'Fast', factor: 14.4, long: '1h', short: '5m', severity: 'critical' },
  { name: 'Slow', factor: 6, long: '6h', short: '30m', severity: 'warning' },
] as const

const RANGES = BURNS.flatMap(({ long, short }) => [long, short])
const recorded = ({ name }: Objective, range: string) => `penstock:${name}:bad_${range}`

function burnRules(objective: Objective): AlertRule[] {
  const { name, summary, goal } = objective
  return BURNS.map(({ name: speed, factor, long, short, severity }) => {
    const bound = Number((factor * (1 - goal)).toFixed(4))
    const over = [long, short].map((range) => `${recorded(objective, range)} > ${bound}`)
    return {
      alert: `${ruleName(name)}Burn${speed}`,
      expr: over.join(' and '),
      labels: { severity },
      annotations: {
        summary: `${summary}: more than ${bound * 100} % were not, for ${long}.`,
        action: 'The dashboard of the service says which; docs/operators/processes.md what to ask.',
      },
    }
  })
}

function groupsOf(): Group[] {
  const alerts = Object.entries(ALERT_ENTRIES).map(([name, meaning]): AlertRule => {
    return {
      alert: ruleName(name),
      expr: `max(penstock_alert{alert="${name}"}) == 1`,
      labels: { severity: CRITICAL.has(name) ? 'critical' : 'warning' },
      annotations: annotationsOf(meaning),
    }
  })
  const unknown = [...CRITICAL].find((name) => !Object.hasOwn(ALERTS, name))
  if (unknown) throw new Error(`there is no alert ${unknown}`)
  const records = OBJECTIVES.flatMap((objective) =>
    RANGES.map((range) => ({ record: recorded(objective, range), expr: objective.bad(range) })),
  )
  return [
    { name: 'penstock-alerts', rules: alerts },
    { name: 'penstock-presence', rules: [...PRESENCE] },
    { name: 'penstock-objectives', rules: [...records, ...OBJECTIVES.flatMap(burnRules)] },
  ]
}

const HEADER = '# Printed by `npm run print`; a test says that it is fresh.\n'
const printed = (value: unknown) => HEADER + stringify(value, { lineWidth: 100 })

export const printRules = (): string => printed({ groups: groupsOf() })

const isAlertRule = (rule: AlertRule | RecordRule): rule is AlertRule => 'alert' in rule

/** The cases of `promtool test rules`: each alert of the service is raised, and over. */
export function printRuleTests(): string {
  const [alerts, presence, objectives] = groupsOf()
  const cases = alerts!.rules.filter(isAlertRule).map(({ alert, expr, labels, annotations }) => ({
    interval: '15s',
    input_series: [
      { series: /penstock_alert\{.*\}/.exec(expr)![0], values: '0x3 1x5 0x8' },
      { series: 'penstock_alert{alert="another"}', values: '0x20' },
    ],
    alert_rule_test: [
      { eval_time: '45s', alertname: alert },
      {
        eval_time: '2m',
        alertname: alert,
        exp_alerts: [{ exp_labels: labels, exp_annotations: annotations }],
      },
      { eval_time: '4m', alertname: alert },
    ],
  }))
  const said = (group: Group, name: string) => {
    const rule = group.rules.filter(isAlertRule).find(({ alert }) => alert === name)!
    return [{ exp_labels: rule.labels, exp_annotations: rule.annotations }]
  }
  const worker = {
    interval: '1m',
    input_series: [{ series: 'penstock_build_info{role="worker"}', values: '1x10' }],
    alert_rule_test: [
      { eval_time: '5m', alertname: 'PenstockNoWorker' },
      {
        eval_time: '5m',
        alertname: 'PenstockNoApi',
        exp_alerts: said(presence!, 'PenstockNoApi'),
      },
    ],
  }
  const answered = (code: string, values: string) => ({
    series: `penstock_http_requests_total{endpoint="/v1/balance",code="${code}"}`,
    values,
  })
  const burning = {
    interval: '1m',
    // Two of a hundred fail: 20 times what may.
    input_series: [answered('0', '0+98x120'), answered('500', '0+2x120')],
    alert_rule_test: [
      {
        eval_time: '110m',
        alertname: 'PenstockAnswersBurnFast',
        exp_alerts: said(objectives!, 'PenstockAnswersBurnFast'),
      },
    ],
  }
  const well = {
    interval: '1m',
    // One of two thousand fails: half of what may.
    input_series: [answered('0', '0+1999x120'), answered('500', '0+1x120')],
    alert_rule_test: BURNS.map(({ name }) => ({
      eval_time: '110m',
      alertname: `PenstockAnswersBurn${name}`,
    })),
  }
  const tests = [...cases, worker, burning, well]
  return printed({ rule_files: ['rules.yml'], evaluation_interval: '15s', tests })
}
