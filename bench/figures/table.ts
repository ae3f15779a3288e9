// Every figure that the documentation tells, with the benchmark that measures it: what is said of
// it, where it is in what `npm run bench -- NAME --json` prints, and for how long that may run.

/** Where a value is: names, and of a list the element that has these fields. */
type Place = readonly (string | Readonly<Record<string, string | number | null>>)[]
type Line = { readonly says: string; readonly at: Place; readonly unit?: string }

export type Figure = {
  /** Of the benchmark. */
  readonly name: string
  /** More that it is given. */
  readonly options?: readonly string[]
  readonly about: string
  readonly lines: readonly Line[]
  /** After which it is stopped, and has failed: several times what it takes when nothing else
   *  uses the machine. */
  readonly minutes_max: number
}

const line = (says: string, at: string | Place, unit?: string): Line => ({
  says,
  at: typeof at === 'string' ? at.split('.') : at,
  ...(unit !== undefined && { unit }),
})

/** Orders that each go to another receiver, within the default limits: as many as are answered, or
 *  so many a second sent. */
const distinct = (says: string, value: 'per_second' | 'p99_ms', sent: number | null = null) => {
  const customers = says.includes('one customer') ? 'one customer' : '500 customers'
  const load = { receivers: 'distinct', customers, limits: 'default', sent }
  const at = ['receivers', load, value]
  // Not of a service that was just started: see WARM_UP_MS in parts/receivers.ts.
  return line(
    `another receiver each, once at work, ${says}`,
    at,
    value === 'p99_ms' ? 'ms' : undefined,
  )
}
const SLOW_NODE = { receivers: 'distinct', limits: '15 a second at the node' }

const statement = (says: string, what: string) => line(says, ['rows', { what }, 'p99_ms'], 'ms')

const ORDERS: readonly Figure[] = [
  {
    name: 'latency',
    about: 'what we add between the first byte of a purchase and its broadcast',
    lines: [
      line('p50', 'request_to_broadcast_p50_ms', 'ms'),
      line('p99', 'request_to_broadcast_p99_ms', 'ms'),
      line('of a block interval of', 'block_interval_ms', 'ms'),
    ],
    minutes_max: 5,
  },
  {
    name: 'pipeline',
    about: 'delegations in a block, 20 pool wallets; a block would hold some 5,000',
    lines: [
      line('the mean of whole blocks', 'delegations_per_block'),
      line('the fullest block', 'delegations_per_block_max'),
    ],
    minutes_max: 10,
  },
  {
    name: 'orders',
    options: ['--rounds', '2'],
    about: 'orders a second through HTTP, signed, on disk, 256 clients',
    lines: [
      line('500 customers, one receiver', 'spread.ours'),
      line('of what pgbench does with the statements as sent', 'ratio_spread'),
      line('one customer, one receiver', 'hot.ours'),
      line('of pgbench', 'ratio_hot'),
      line('times what one call an order reaches', 'hot_over_one_call'),
      distinct('500 customers: orders a second', 'per_second'),
      ...[500, 1_000, 1_500].map((sent) =>
        distinct(`${sent} a second sent: answered (p99)`, 'p99_ms', sent),
      ),
      distinct('one customer, 500 a second sent: orders a second', 'per_second', 500),
      distinct('one customer, 500 a second sent: answered (p99)', 'p99_ms', 500),
      line(
        'the same, 10 a second sent, a node that allows 15 requests a second: answered (p99)',
        ['receivers', SLOW_NODE, 'p99_ms'],
        'ms',
      ),
      line('and so many requests it has refused', ['receivers', SLOW_NODE, 'node_refused']),
      line('64 clients, one receiver: answered (p99)', 'ours_64_p99_ms', 'ms'),
      line('of the processor, an order takes of the service', 'service_us_per_order', 'µs'),
      line('of which a bare server of node:http takes', 'http_floor_us', 'µs'),
      line('with order.created told, of what it is without', 'ratio_events'),
      line('with spans kept, of the processor, times what it is without', 'ratio_traces_cpu'),
    ],
    minutes_max: 15,
  },
  {
    name: 'mixed',
    about: 'all endpoints at 200 requests a second',
    lines: [
      line('customers who ask', 'customers'),
      line('of all requests (p99)', 'p99_ms', 'ms'),
      line('of the slowest endpoint (p99)', 'worst_p99_ms', 'ms'),
      line('refused that should succeed', 'failures'),
    ],
    minutes_max: 5,
  },
  {
    name: 'statement',
    options: ['--entries', '300000'],
    about: 'what a customer with 300,000 entries reads (p99)',
    lines: [
      statement('a page of the statement', '/v1/statement, page after page'),
      statement('a page of the statement, from anywhere', '/v1/statement, from anywhere'),
      statement('a page of purchases', '/v1/transactions/list, page after page'),
      statement('the summary of a month by days', '/v1/summary of 30 days, by days'),
    ],
    minutes_max: 20,
  },
  {
    name: 'aged',
    options: ['--orders', '300000'],
    about: 'what a step costs that has nothing to do, 300,000 orders behind it, 90,000 running',
    lines: [
      line('the slowest', 'worst_ms', 'ms'),
      line('which is', 'worst_step'),
      line('a purchase', ['figures', { step: 'a purchase' }, 'aged_ms'], 'ms'),
      line('a purchase on a new database', ['figures', { step: 'a purchase' }, 'new_ms'], 'ms'),
    ],
    minutes_max: 20,
  },
]

const BOOKS: readonly Figure[] = [
  {
    name: 'books',
    about: 'the check of the books: two ledgers, one of a month, one of some days',
    lines: [
      line('entries of the smaller ledger', 'small.entries'),
      line('entries of the larger one', 'large.entries'),
      line('whole, of the smaller ledger', ['together', 'whole_ms', '0'], 'ms'),
      line('whole, of the larger one', ['together', 'whole_ms', '1'], 'ms'),
      line(
        'from where it held a day ago, of the smaller one',
        ['together', 'continued_ms', '0'],
        'ms',
      ),
      line(
        'from where it held a day ago, of the larger one',
        ['together', 'continued_ms', '1'],
        'ms',
      ),
      line('the latter over the former', 'ratios.continued'),
    ],
    minutes_max: 20,
  },
]

const SCREENING: readonly Figure[] = [
  {
    name: 'archive',
    about: 'transfers in ClickHouse, two servers on one machine, beside PostgreSQL',
    lines: [
      line('transfers', 'transfers'),
      line('put, a second', 'put_per_second'),
      line('read for an index, a second', 'read_per_second'),
      line('PostgreSQL, a second', 'postgres_read_per_second'),
      line('a page of counterparties (p99)', 'counterparties_p99_ms', 'ms'),
      line('those of a service (p99)', 'counterparties_of_a_service_p99_ms', 'ms'),
      line('of the same blocks (p99)', 'the_same_blocks_p99_ms', 'ms'),
      line('PostgreSQL (p99)', 'postgres_p99_ms', 'ms'),
      line('bytes a transfer', 'bytes_a_transfer'),
      line('PostgreSQL, bytes a transfer', 'postgres_bytes_a_transfer'),
    ],
    minutes_max: 10,
  },
  {
    name: 'history',
    options: ['--checks', '3000000'],
    about: 'pages of the history, over three million checks',
    lines: [
      line('the first 100 pages (p99)', 'p99_first_100_pages_ms', 'ms'),
      line('any page, the slowest', 'max_any_page_ms', 'ms'),
      line('totals are exact', 'totals_exact'),
    ],
    minutes_max: 10,
  },
  {
    name: 'screening',
    about: 'a check, from asking to the answer',
    lines: [
      line('p50', 'check_p50_ms', 'ms'),
      line('p99', 'check_p99_ms', 'ms'),
      line('of which the read of the index and the score', 'read_us', 'µs'),
      line('three steps back in SQL, summed at each, over the same transfers', 'walk_ms', 'ms'),
    ],
    minutes_max: 10,
  },
  {
    name: 'checks',
    about: 'a hundred checks a second, two workers, two million transfers',
    lines: [
      line('the index in a process of its own: answered (p50)', 'apart.check_p50_ms', 'ms'),
      line('the same (p99)', 'apart.check_p99_ms', 'ms'),
      line('a worker without an index takes', 'apart.worker_mb', 'MB'),
      line('both workers and the index', 'apart.together_mb', 'MB'),
      line('an index in each worker: answered (p99)', 'each.check_p99_ms', 'ms'),
      line('a worker with an index takes', 'each.worker_mb', 'MB'),
    ],
    minutes_max: 10,
  },
  {
    name: 'flow',
    about: 'the flow index, 4 million addresses',
    lines: [
      line('a transfer', 'us_per_transfer', 'µs'),
      line('times a bare loop that keeps balances', 'ratio_bare'),
      line('an address', 'bytes_per_address', 'bytes'),
    ],
    minutes_max: 10,
  },
  {
    name: 'flow-curve',
    about: 'the memory of the flow index, over transfers an address',
    lines: [
      line('an address at two transfers', 'points.0.bytes_each', 'bytes'),
      line('at ten', 'points.4.bytes_each', 'bytes'),
    ],
    minutes_max: 10,
  },
  {
    name: 'aml-truth',
    about: 'whether screening finds what is true, in made-up chains',
    lines: [
      line('share error (0 is the truth, 1 all wrong)', 'methods.engine.share_error'),
      line('of a walk of three steps', 'methods.walk, depth 3.share_error'),
    ],
    minutes_max: 15,
  },
]

const CHAIN: readonly Figure[] = [
  {
    name: 'follower',
    about: 'following blocks as large as the main network’s (383 transactions)',
    lines: [
      line('a block at the head (p50)', 'head_p50_ms', 'ms'),
      line('catching up, times real time', 'times_real'),
      line('of only fetching and parsing them', 'reference_ratio'),
      line(
        'with every reader of the blocks at work, blocks a second',
        'with_readers_blocks_per_second',
      ),
    ],
    minutes_max: 10,
  },
  {
    name: 'devchain',
    about: 'the development chain',
    lines: [
      line('a block of 5,000 transactions', 'block_of_5000_ms', 'ms'),
      line('the first answer after', 'first_answer_ms', 'ms'),
      line('broadcasts a second', 'broadcasts_per_second'),
    ],
    minutes_max: 10,
  },
]

const TOLD: readonly Figure[] = [
  {
    name: 'events',
    about: 'events, numbered and streamed',
    lines: [
      line('numbered a second', 'publish_per_second'),
      line('of PostgreSQL alone', 'publish_ratio'),
      line('from commit to one of a thousand streams (p50)', 'commit_to_stream_p50_ms', 'ms'),
      line('the same (p99)', 'commit_to_stream_p99_ms', 'ms'),
      line('a thousand idle streams hold', 'streams_megabytes', 'MB'),
    ],
    minutes_max: 10,
  },
  {
    name: 'webhooks',
    about: 'calls to webhooks a second, from a log that is full',
    lines: [
      line('to one', 'calls_per_second_to_one'),
      line('of a bare loop of http.request', 'share_of_bare_to_one'),
      line('to twenty', 'calls_per_second_to_twenty'),
      line('of the bare loop', 'share_of_bare_to_twenty'),
      line('from commit to first call (p50)', 'commit_to_call_p50_ms', 'ms'),
      line('the same (p99)', 'commit_to_call_p99_ms', 'ms'),
    ],
    minutes_max: 10,
  },
]

const USED: readonly Figure[] = [
  {
    name: 'cli',
    about: "the customers' command line",
    lines: [
      line('penstock --version', 'version.seconds_ms', 'ms'),
      line('penstock balance', 'balance.seconds_ms', 'ms'),
      line('Node that does nothing', 'nothing.seconds_ms', 'ms'),
      line('listen --forward-to, from the call that makes an event (p95)', 'listen.p95_ms', 'ms'),
    ],
    minutes_max: 10,
  },
  {
    name: 'faces',
    options: ['--loads', '5'],
    about: 'what a visitor waits for',
    lines: [
      line('Home is painted after', 'here.home.paint_ms', 'ms'),
      line('and on a slow phone', 'phone.home.paint_ms', 'ms'),
      line('the status page is painted after', 'here.status.paint_ms', 'ms'),
      line('and on a slow phone', 'phone.status.paint_ms', 'ms'),
    ],
    minutes_max: 10,
  },
  {
    name: 'console',
    options: ['--orders', '50000', '--customers', '2000'],
    about: "the operators' pages, 50,000 orders and 2,000 customers",
    lines: [
      line('a tick of the figures', 'tick_ms', 'ms'),
      line('of a core, while nobody looks on', 'idle_percent', '%'),
      line('while one looks on', 'watched_percent', '%'),
    ],
    minutes_max: 20,
  },
  {
    name: 'start',
    options: ['--rounds', '3'],
    about: 'how much later `npm start` is ready because of its pages',
    lines: [
      line('when they are put together', 'start.cold.later_ms', 'ms'),
      line('when they are kept from before', 'start.cached.later_ms', 'ms'),
    ],
    minutes_max: 10,
  },
  {
    name: 'sign_in',
    options: ['--tries', '2000'],
    about: 'whether the time of a refusal tells if a name exists',
    lines: [line('tries of each, and none can be told from another', 'tries')],
    minutes_max: 10,
  },
]

export const FIGURES: readonly Figure[] = [
  ...ORDERS,
  ...BOOKS,
  ...SCREENING,
  ...CHAIN,
  ...TOLD,
  ...USED,
]

export const commandOf = ({ name, options = [] }: Figure): string =>
  ['npm run bench --', name, ...options].join(' ')

/** What a benchmark's answer has at a place. */
export function valueAt(values: unknown, place: Place): unknown {
  let found = values
  for (const part of place) {
    if (typeof part === 'string') found = (found as Record<string, unknown> | undefined)?.[part]
    else if (Array.isArray(found))
      found = (found as Record<string, unknown>[]).find((one) =>
        Object.entries(part).every(([name, value]) => one[name] === value),
      )
    else return undefined
  }
  return found
}
