// The fuzzer: signed requests to every endpoint of a whole service, from nearly right to nonsense,
// while the chain goes on and what was bought is delivered and taken back. No answer may be code
// 500 or HTTP 5xx, none may be one that the endpoint does not document, and afterwards the books,
// the pool and the chain agree.
//
//   npm run torture -- fuzz [--requests-per-endpoint N] [--seed S] [--only PATH] [--json]

import { Misuse } from 'penstock-service/lib/fault.ts'
import { type Endpoint, SCOPES } from 'penstock-service/platform/wire/endpoint.ts'
import { readArguments } from '../../tools/arguments.ts'
import { checkStrictly } from '../harness/strict.ts'
import { type Customer, openWorld, readAnswer, type World } from '../harness/world.ts'
import { bodyFor, type Draw, drawer, type Right } from './fuzz_bodies.ts'

export type FuzzOptions = {
  requests_per_endpoint: number
  seed: string
  /** Only endpoints whose path contains this. */
  only?: string | undefined
}

export type FuzzReport = {
  seed: string
  requests: number
  seconds: number
  requests_per_second: number
  /** How often each code was answered, by endpoint. */
  codes: Record<string, Record<string, number>>
  /** Answers that must not be. */
  findings: string[]
}

const AT_ONCE = 64
/** How often the chain goes on, and how often an hour passes, in requests. */
const BLOCK_EVERY = 1_024
const HOUR_EVERY = 16_384
const FINDINGS_MAX = 20
const KNOWN_MAX = 200
const ADDRESSES = 24

/** What is wrong with an answer; undefined when nothing is. */
export function objection(endpoint: Endpoint, status: number, text: string): string | undefined {
  if (status !== 200) return `HTTP ${status}`
  try {
    checkStrictly(endpoint.path, text)
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : 'unreadable'
  }
  const { code, key } = JSON.parse(text) as { code: number; key?: string }
  if (code === 0) return undefined
  if (code === 500) return 'code 500'
  const documented = endpoint.faults.some((line) => line.code === code && line.key === key)
  return documented ? undefined : `${code} ${key} is not documented`
}

/** Sends the requests, one endpoint after the other. */
export async function fuzz(options: FuzzOptions): Promise<FuzzReport> {
  const world = await openWorld({
    seed: options.seed,
    pool_trx: [50_000_000, 50_000_000],
    pool_bandwidth_trx: 20_000_000,
  })
  try {
    const started_at = performance.now()
    const codes: FuzzReport['codes'] = {}
    const findings: string[] = []
    const round = await Round.begin(world, options)
    for (const endpoint of world.app.endpoints.filter(({ path }) =>
      path.includes(options.only ?? ''),
    )) {
      codes[endpoint.path] = await round.attack(endpoint, findings)
    }
    await world.settle()
    await world.verify()
    const seconds = (performance.now() - started_at) / 1_000
    const requests = Object.keys(codes).length * options.requests_per_endpoint
    return {
      seed: options.seed,
      requests,
      seconds: Math.round(seconds),
      requests_per_second: Math.round(requests / seconds),
      codes,
      findings,
    }
  } finally {
    await world.discard()
  }
}

const quoted = (values: readonly string[]) => values.map((value) => JSON.stringify(value))

class Round {
  private readonly world: World
  private readonly options: FuzzOptions
  private readonly draw: Draw
  private readonly right: { [name: string]: string[] }
  private customers: Customer[] = []
  private sent = 0

  constructor(world: World, options: FuzzOptions) {
    this.world = world
    this.options = options
    this.draw = drawer(options.seed)
    this.right = rightFor(world)
  }

  static async begin(world: World, options: FuzzOptions): Promise<Round> {
    const round = new Round(world, options)
    round.customers = [
      await world.customer({ trx: 20_000_000, scopes: [...SCOPES] }),
      await world.customer({ trx: 20_000_000 }),
      await world.customer({ trx: 20 }),
      await world.customer({ trx: 20_000, daily_cap_sun: 50_000_000n }),
    ]
    return round
  }

  /** Sends all requests for one endpoint. Returns how often each code came back. */
  async attack(endpoint: Endpoint, findings: string[]): Promise<Record<string, number>> {
    const codes: Record<string, number> = {}
    // What was begun before becomes something that can be asked for, or stopped.
    await this.world.settle()
    this.world.mine()
    await this.world.drain()
    for (let left = this.options.requests_per_endpoint; left > 0; left -= AT_ONCE) {
      const bodies = Array.from({ length: Math.min(left, AT_ONCE) }, () =>
        bodyFor(this.draw, endpoint, this.right as Right),
      )
      await Promise.all(
        bodies.map(async (body) => {
          const { status, text } = await this.send(endpoint, body)
          // An answer that stays open was accepted.
          if (text === undefined) {
            codes[0] = (codes[0] ?? 0) + 1
            return
          }
          const complaint = objection(endpoint, status, text)
          if (complaint !== undefined && findings.length < FINDINGS_MAX) {
            findings.push(
              `${endpoint.path}: ${complaint}: ${JSON.stringify(body.toString('latin1'))} ` +
                `was answered ${text}`,
            )
          }
          const { code, result } = JSON.parse(text) as { code: number; result?: { id?: string } }
          codes[code] = (codes[code] ?? 0) + 1
          if (endpoint.mutating) this.remember(result)
        }),
      )
      await this.goOn(bodies.length)
    }
    return codes
  }

  private async send(
    endpoint: Endpoint,
    payload: Buffer,
  ): Promise<{ status: number; text: string | undefined }> {
    const customer = this.customers[Math.floor(this.draw() ** 3 * this.customers.length)]!
    const headers = customer.headers(endpoint.path, payload)
    if (this.draw() < 0.05) headers['idempotency-key'] = 'k'.repeat(Math.floor(this.draw() * 140))
    const answer = await this.world.api.inject({
      method: 'POST',
      url: endpoint.path,
      headers,
      payload,
      payloadAsStream: true,
    })
    return { status: answer.statusCode, text: await readAnswer(answer) }
  }

  /** Ids that exist are worth asking for. */
  private remember(result: { id?: string } | undefined): void {
    if (typeof result?.id !== 'string') return
    const known = this.right.id!
    known[known.length < KNOWN_MAX ? known.length : this.sent % KNOWN_MAX] = `"${result.id}"`
  }

  private async goOn(requests: number): Promise<void> {
    const passed = (every: number) =>
      Math.floor((this.sent + requests) / every) > Math.floor(this.sent / every)
    if (passed(BLOCK_EVERY)) {
      this.world.mine()
      await this.world.drain()
    }
    if (passed(HOUR_EVERY)) {
      await this.world.advance(3_700)
      await this.world.settle()
    }
    this.sent += requests
  }
}

/** Values that are right for a field of a given name. */
function rightFor(world: World): { [name: string]: string[] } {
  const active = Array.from(
    { length: ADDRESSES },
    (_one, i) => world.person(`active-${i}`, 1).address,
  )
  const addresses = quoted([
    ...active,
    ...Array.from({ length: 4 }, (_one, i) => world.person(`dormant-${i}`).address),
  ])
  const amounts = ['65000', '32000', '131000', '345', '3000000', '31999', '100000']
  return {
    address: addresses,
    from_address: addresses,
    to_address: addresses,
    contract_address: quoted(['TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t', active[0]!]),
    service: quoted(['energy', 'energy', 'bandwidth', 'resource_bundle', 'activate_address']),
    type: quoted(['energy', 'bandwidth', 'address', 'hash']),
    duration: ['1', '1', '1', '1', '0', '30'],
    amount: amounts,
    energy: ['65000', '131000'],
    bandwidth: ['345', '1000'],
    energy_amount: amounts,
    activate_address: ['true', 'false'],
    external_id: quoted(['a', '0', ...Array.from({ length: 2_000 }, (_one, i) => `own_${i}`)]),
    id: quoted(['01jq7h6bvf6p5t1amnz6y3n8c4']),
    transaction_id: quoted(['01jq7h6bvf6p5t1amnz6y3n8c4']),
    subscription_id: quoted(['unlimited_energy', 'energy_pack_100']),
    transactions_limit: ['0', '0', '0', '0', '100'],
    network: quoted(['TRX', 'TRX', 'ETH', 'BTC']),
    hash: quoted(['ab'.repeat(32), '00'.repeat(32)]),
    direction: quoted(['deposit', 'withdrawal']),
    page: ['1', '2', '1000000'],
    per_page: ['1', '10', '50'],
    status: quoted(['new', 'pending', 'active', 'stopped', 'completed', 'failed', 'processing']),
  }
}

/** The command. Whether nothing was found. */
export async function run(args: string[]): Promise<boolean> {
  const { numbers, texts, json } = readArguments(args, {
    numbers: { 'requests-per-endpoint': 200_000 },
    texts: ['seed', 'only'],
  })
  const { seed = '1', only } = texts
  const report = await fuzz({ requests_per_endpoint: numbers['requests-per-endpoint'], seed, only })
  if (report.requests === 0)
    throw new Misuse(`No endpoint has ${JSON.stringify(only)} in its path.`)
  const { codes, findings, ...summary } = report
  const lines = json
    ? [JSON.stringify(report)]
    : [
        JSON.stringify(summary),
        ...Object.entries(codes).map(([path, counts]) => `${path} ${JSON.stringify(counts)}`),
        ...findings,
        findings.length === 0 ? 'nothing found' : `${findings.length} findings`,
      ]
  process.stdout.write(`${lines.join('\n')}\n`)
  return findings.length === 0
}
