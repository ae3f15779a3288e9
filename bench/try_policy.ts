// A policy tried on the answers that are kept: answers of ten categories each, with ways of
// five transfers in its evidence, under the newest policy that is shipped, are scored again under a
// stricter one. Said is how long that took, and what the processor was used for it. Limit: 60 s for
// 100,000 answers.
//
//   npm run bench -- try_policy [--answers N] [--json]

import { createHash } from 'node:crypto'
import { idOf } from 'penstock-service/lib/ids.ts'
import { migrate } from 'penstock-service/platform/database/migrate.ts'
import { connect, type Sql } from 'penstock-service/platform/database/sql.ts'
import { startPostgres } from 'penstock-service/platform/postgres/server.ts'
import { type KeptFacts, keptSubject } from 'penstock-service/screening/cases/kept_subject.ts'
import { tryPolicy } from 'penstock-service/screening/cases/trying.ts'
import { canonical, type Fact, sha256Of } from 'penstock-service/screening/engine/evidence.ts'
import { judgedPolicy, SHIPPED_NEWEST } from 'penstock-service/screening/engine/policy.ts'
import { printUsd, scoreOf } from 'penstock-service/screening/engine/scoring.ts'
import { CATEGORIES } from 'penstock-service/screening/flow/categories.ts'
import { type Asset, readAssets } from 'penstock-service/screening/tracing/flow_log.ts'
import { addressFromBytes } from 'penstock-tron/address.ts'

export const OPTIONS = { answers: { type: 'string', default: '100000' } } as const

const LIMIT_MS = 60_000
const THEN = judgedPolicy(SHIPPED_NEWEST, 2)
const STRICT = judgedPolicy(
  {
    ...SHIPPED_NEWEST,
    name: 'strict',
    indirect: [{ share_bp: 100, usd: 100, points: 71 }],
    weights: { ...SHIPPED_NEWEST.weights, liquidity_pools: 80 },
  },
  3,
)

export async function run({
  json,
  numbers,
}: {
  json: boolean
  numbers: Readonly<Record<string, number>>
}): Promise<void> {
  const { answers = 0 } = numbers
  const settings = { max_wal_size: '4GB', synchronous_commit: 'off' }
  const postgres = await startPostgres({ throw_away: true, settings })
  const sql = connect({ url: postgres.url })
  try {
    await migrate(postgres.url)
    const bytes = await writeAnswers(sql, answers)
    const cpu = process.cpuUsage()
    const began = performance.now()
    const trial = await tryPolicy(sql, { policy: STRICT, since: new Date(0) })
    const took_ms = performance.now() - began
    const { user, system } = process.cpuUsage(cpu)
    const { changes, ...counts } = trial
    const found = {
      evidence_bytes_each: Math.round(bytes / answers),
      took_ms: Math.round(took_ms),
      cpu_ms: Math.round((user + system) / 1_000),
      customers_changed: new Set(changes.map((one) => one.customer_id)).size,
      ...counts,
      limit_ms: LIMIT_MS,
      within_limit: took_ms * (100_000 / answers) <= LIMIT_MS && trial.reproduced === answers,
    }
    process.stdout.write(`${JSON.stringify(found, null, json ? 0 : 2)}\n`)
  } finally {
    await sql.close()
    await postgres.stop()
  }
}

const PORTION = 1_000
const bytesOf = (text: string) => createHash('sha256').update(text).digest()
const addressOf = (n: number) =>
  addressFromBytes(Uint8Array.of(0x41, ...bytesOf(`address ${n}`).subarray(0, 20)))

/** Whom the ways lead over; to write an address is dear. */
const SENDERS = [0, 1, 2, 3, 4].map(addressOf)

/** Writes answers, and returns how many bytes their evidence has. */
async function writeAnswers(sql: Sql, answers: number): Promise<number> {
  await sql`
    insert into policy (version, body, published_at, published_by)
    values (2, ${JSON.stringify(THEN)}, now(), 'bench')`
  const assets = await readAssets(sql)
  let bytes = 0
  for (let first = 0; first < answers; first += PORTION) {
    const rows = Array.from({ length: Math.min(PORTION, answers - first) }, (_, i) =>
      answerOf(first + i, assets),
    )
    bytes += rows.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)
    await writeRows(sql, rows)
  }
  await sql`analyze aml_check, aml_evidence`
  return bytes
}

type Answer = ReturnType<typeof answerOf>

async function writeRows(sql: Sql, rows: readonly Answer[]): Promise<void> {
  await sql`
    insert into aml_check (id, customer_id, type, network, address, state, price_sun, solid_number,
      due_at, created_at, ended_at, risk_score, risk_level, provider, policy)
    select id, customer_id, 'address', 'TRX', address, 'completed', 0, 1, now(), now(), now(),
      score, level, 'embedded', 2
    from unnest(${rows.map((one) => one.id)}::text[], ${rows.map((one) => one.customer)}::text[],
      ${rows.map((one) => one.address)}::text[], ${rows.map((one) => one.score)}::text[],
      ${rows.map((one) => one.level)}::text[]) as r (id, customer_id, address, score, level)`
  await sql`
    insert into aml_evidence (check_id, canonical, sha256)
    select * from unnest(${rows.map((one) => one.id)}::text[],
      ${rows.map((one) => one.text)}::text[], ${rows.map((one) => sha256Of(one.text))}::text[])`
}

/** An answer as the engine writes it, with amounts of its own. */
function answerOf(n: number, assets: readonly Asset[]) {
  const address = addressOf(n)
  const draw = (k: number) => bytesOf(`amount ${n} ${k}`).readUInt32LE() / 2 ** 32
  const sun = (k: number) => BigInt(Math.floor(10 ** (8 + 4 * draw(k))))
  const facts = {
    engine: 'penstock 5',
    asked: { type: 'address', direction: null },
    notes: ['Received amounts are gross: money that went out and came back counts again.'],
    policy: { name: 'p2', version: '2', trx_micro_usd: '300000' },
    screened: { address, in_force: null },
    entries: [],
    factors: CATEGORIES.slice(8, 18).map(({ name }, k) => {
      const usd = printUsd(sun(k) * 300_000n * 10n ** 12n)
      const path = Array.from({ length: 5 }, (_, step) => ({
        tx_id: bytesOf(`tx ${n} ${k} ${step}`).toString('hex'),
        from: SENDERS[step]!,
        to: address,
        block: String(step),
        asset: 'TRX',
        amount: String(sun(k)),
        carried: String(sun(k)),
      }))
      const direct_usd = k % 3 === 0 ? usd : '0.00'
      return { category: name, usd, direct_usd, units: { TRX: String(sun(k)) }, path }
    }),
    destinations: { sent_usd: '0.00', to: {} },
    counted: {},
    sent: null,
    blacklisted_by: [],
  }
  const kept = facts as unknown as KeptFacts
  const { score, level } = scoreOf(
    THEN,
    keptSubject(kept, { before: THEN, policy: THEN, assets }).subject,
  )
  const text = canonical(facts as unknown as Fact)
  const id = idOf(new Date(1_790_000_000_000 + n), `check ${n}`)
  return { id, customer: `c${n % 100}`, address, score, level, text }
}
