// deploy/grafana/*.json, printed from the table of measures: a dashboard for each subject, and on
// it a panel for each metric, which says what the table says. The JSON is what Grafana itself
// exports, by hand: what makes it from a program would be one more dependency for six keys.

import { METRICS } from 'penstock-service/health/monitoring/measures.ts'

/** The dashboards, and how the names of their metrics begin; the first that fits has it. */
const SUBJECTS = {
  chain: {
    title: 'Penstock: chain and pool',
    begins: ['chain_', 'node_', 'follower_', 'reader_', 'attempts_', 'pool_', 'wallet_'],
  },
  money: {
    title: 'Penstock: orders and money',
    begins: ['order', 'balance_', 'held_', 'deposits_', 'books_', 'journal_'],
  },
  screening: { title: 'Penstock: screening', begins: ['check'] },
  database: {
    title: 'Penstock: database',
    begins: ['db_', 'commit_', 'backup_', 'restore_', 'clock_'],
  },
  service: { title: 'Penstock: service', begins: [''] },
} as const
type Subject = keyof typeof SUBJECTS

type Metric = (typeof METRICS)[string]

const subjectOf = (name: string) =>
  (Object.keys(SUBJECTS) as Subject[]).find((subject) =>
    SUBJECTS[subject].begins.some((begin) => name.startsWith(begin)),
  )!

/** Metrics of one process, which is a label of theirs; all others are of the whole. */
const OF_A_PROCESS = new Set(['http_in_flight', 'ready', 'clock_offset_seconds', 'build_info'])

type Target = { expr: string; legendFormat: string }

/** The queries of a metric. */
function targetsOf(name: string, { kind, labels }: Metric): Target[] {
  const full = `penstock_${name}`
  const by = OF_A_PROCESS.has(name) ? ['instance', ...labels] : [...labels]
  const legend = by.map((label) => `{{${label}}}`).join(' ')
  const grouped = (...words: string[]) => (words.length > 0 ? ` by (${words.join(', ')})` : '')
  if (kind === 'histogram')
    return [0.5, 0.99].map((share) => ({
      expr:
        `histogram_quantile(${share}, ` +
        `sum${grouped('le', ...by)} (rate(${full}_bucket[$__rate_interval])))`,
      legendFormat: `p${share * 100} ${legend}`.trim(),
    }))
  if (kind === 'counter')
    return [
      { expr: `sum${grouped(...by)} (rate(${full}[$__rate_interval]))`, legendFormat: legend },
    ]
  // Several processes may show what the database knows, or what each has of its own.
  const together = name.startsWith('db_') ? 'sum' : 'max'
  return [{ expr: `${together}${grouped(...by)} (${full})`, legendFormat: legend }]
}

function unitOf(name: string, kind: string): string {
  if (/_seconds$/.test(name)) return 's'
  return kind === 'counter' ? 'ops' : 'short'
}

const DATASOURCE = { type: 'prometheus', uid: '$datasource' }
const [COLUMNS, WIDTH, HEIGHT] = [3, 8, 7]

const panelOf = ([name, metric]: [string, Metric], i: number) => ({
  id: i + 1,
  type: 'timeseries',
  title: name.replaceAll('_', ' '),
  description: metric.help,
  datasource: DATASOURCE,
  gridPos: {
    x: (i % COLUMNS) * WIDTH,
    y: Math.floor(i / COLUMNS) * HEIGHT,
    w: WIDTH,
    h: HEIGHT,
  },
  fieldConfig: { defaults: { unit: unitOf(name, metric.kind), min: 0 }, overrides: [] },
  options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi' } },
  targets: targetsOf(name, metric).map((target, place) => ({
    refId: String.fromCharCode('A'.charCodeAt(0) + place),
    datasource: DATASOURCE,
    ...target,
  })),
})

function dashboardOf(subject: Subject) {
  const metrics = Object.entries(METRICS).filter(([name]) => subjectOf(name) === subject)
  return {
    uid: `penstock-${subject}`,
    title: SUBJECTS[subject].title,
    tags: ['penstock'],
    schemaVersion: 39,
    version: 1,
    editable: true,
    timezone: 'browser',
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    templating: {
      list: [{ name: 'datasource', label: 'Prometheus', type: 'datasource', query: 'prometheus' }],
    },
    annotations: {
      list: [
        {
          name: 'Alerts',
          enable: true,
          datasource: DATASOURCE,
          iconColor: 'red',
          expr: 'max by (alert) (penstock_alert) == 1',
          titleFormat: '{{alert}}',
        },
      ],
    },
    links: [{ title: 'Penstock', type: 'dashboards', tags: ['penstock'], asDropdown: true }],
    panels: metrics.map(panelOf),
  }
}

/** The dashboards by the names of their files. */
export const printDashboards = (): [name: string, text: string][] =>
  (Object.keys(SUBJECTS) as Subject[]).map((subject) => [
    `${subject}.json`,
    `${JSON.stringify(dashboardOf(subject), null, 2)}\n`,
  ])
