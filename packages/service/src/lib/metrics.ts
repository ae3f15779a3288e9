// Numbers about this process, printed as Prometheus reads them. Each has its name and meaning in a
// table that is handed in; a name that is not in it is a bug. Labels hold words of ours, never a
// customer, a key, an address or an id.

export type Kind = 'counter' | 'gauge' | 'histogram'
export type Declarations = Readonly<Record<string, { kind: Kind; help: string }>>
export type Labels = Readonly<Record<string, string | number>>

/** Upper bounds of a histogram's buckets, in seconds. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
/** More series of one name than this are left out: something that should not be is in a label. */
const SERIES_MAX = 1_000

type Series = { labels: string; value: number; buckets: number[]; count: number }

export type Metrics<Name extends string> = {
  /** Adds to a counter. */
  count(name: Name, labels?: Labels, by?: number): void
  /** Sets a gauge, or a counter that is read from elsewhere. */
  set(name: Name, value: number, labels?: Labels): void
  /** Puts a duration, in seconds, into a histogram. */
  observe(name: Name, seconds: number, labels?: Labels): void
  /** Forgets all series of the names: what is set anew each time, and may not be there any more. */
  clear(names: readonly Name[]): void
  /** All of them, in the text format of Prometheus. */
  text(): string
}

export function makeMetrics<D extends Declarations>(
  declared: D,
  prefix: string,
): Metrics<keyof D & string> {
  const known = new Map(Object.keys(declared).map((name) => [name, new Map<string, Series>()]))
  function seriesOf(name: string, labels: Labels = {}): Series {
    const all = known.get(name)
    if (!all) throw new Error(`no metric is called ${name}`)
    const text = labelText(labels)
    let series = all.get(text)
    if (!series) {
      series = { labels: text, value: 0, buckets: BUCKETS.map(() => 0), count: 0 }
      if (all.size < SERIES_MAX) all.set(text, series)
    }
    return series
  }
  return {
    count(name, labels, by = 1) {
      seriesOf(name, labels).value += by
    },
    set(name, value, labels) {
      seriesOf(name, labels).value = value
    },
    observe(name, seconds, labels) {
      const series = seriesOf(name, labels)
      const bucket = BUCKETS.findIndex((bound) => seconds <= bound)
      if (bucket >= 0) series.buckets[bucket]! += 1
      series.value += seconds
      series.count += 1
    },
    clear(names) {
      for (const name of names) known.get(name)?.clear()
    },
    text() {
      const lines = [...known].flatMap(([name, series]) => {
        const { kind, help } = declared[name]!
        const full = prefix + name
        return [
          `# HELP ${full} ${help}`,
          `# TYPE ${full} ${kind}`,
          ...[...series.values()].flatMap(printed(full, kind)),
        ]
      })
      return `${lines.join('\n')}\n`
    },
  }
}

const escaped = (text: string) =>
  text.replace(/[\\"\n]/g, (one) => (one === '\n' ? '\\n' : `\\${one}`))

const labelText = (labels: Labels): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(String(value))}"`)
    .join(',')

/** The lines of one series. */
const printed =
  (name: string, kind: Kind) =>
  ({ labels, value, buckets, count }: Series): string[] => {
    const of = (suffix: string, more: string, number: number) => {
      const all = [labels, more].filter((one) => one !== '').join(',')
      return `${name}${suffix}${all === '' ? '' : `{${all}}`} ${number}`
    }
    if (kind !== 'histogram') return [of('', '', value)]
    let below = 0
    const lines = BUCKETS.map((bound, i) => {
      below += buckets[i]!
      return of('_bucket', `le="${bound}"`, below)
    })
    return [
      ...lines,
      of('_bucket', 'le="+Inf"', count),
      of('_sum', '', value),
      of('_count', '', count),
    ]
  }
