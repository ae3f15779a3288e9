// Asks outside providers, as the policy's route says, and turns what they say into an answer of
// ours: their score, their shares under our names, and what they lack to the whole as unidentified.
// A provider that fails is never a score: the next one is asked, or the check fails. Of several
// answers the worst counts, and all are kept. What bars the address here holds against all of them.

import type { Address } from 'penstock-tron/address.ts'
import { errorText } from '../../lib/fault.ts'
import type { Tx } from '../../platform/database/sql.ts'
import { type Bars, barReasons, barsFact, notAsked, type Party } from '../engine/bars.ts'
import { canonical, type Fact, sha256Of } from '../engine/evidence.ts'
import { EMBEDDED, type Policy, type Route } from '../engine/policy.ts'
import { barred, factorsOf, levelOf, noExposure, type Outcome } from '../engine/scoring.ts'
import { ENGINE } from '../engine/screening.ts'
import { categoryNumber, UNIDENTIFIED } from '../flow/categories.ts'
import { type Provider, type ProviderAnswer, ProviderFailure } from '../providers/provider.ts'
import type { Check, Result } from './checks.ts'

/** What an outside provider said, byte for byte; `error`: why it is no answer. */
export type OutsideAnswer = {
  provider: string
  outcome: string
  body: Uint8Array
  error: string | null
}

/** What became of a check: answered, failed for good, or to be looked at again. */
export type Answer = (
  | { state: 'completed'; result: Result }
  | { state: 'failed'; error: string }
  | { state: 'wait'; ms: number }
) & { answers?: OutsideAnswer[] }

type ProviderQuestion = {
  providers: readonly Provider[]
  policy: Policy
  /** Our own engine; undefined: it cannot answer now. */
  inside: (check: Check) => Promise<Answer> | undefined
  /** Whom the check is about. */
  counterparty: (check: Check) => Promise<Counterparty>
  /** What bars an address now. */
  bars: (party: Party) => Promise<Bars>
}

/** Whom a check is about: undefined when that cannot be known, or when to look again. */
export type Counterparty = { address: Address | undefined } | { wait_ms: number }

/** What one of those asked found. A score of undefined: it only says that the address is not
 *  barred. */
type ProviderFindings = {
  name: string
  outcome: Outcome | undefined
  facts: Fact
  embedded: Result | undefined
}

const WAIT_MS = 1_000
/** When others were asked before our own engine had to wait: they will be asked again. */
const WAIT_ASKED_MS = 15_000

/** Asks those whom the policy names for the check. */
export async function askProviders(asking: ProviderQuestion, check: Check): Promise<Answer> {
  const route: Route = asking.policy.routes[`${check.network}/${check.type}`]!
  const answers: OutsideAnswer[] = []
  const found: ProviderFindings[] = []
  // Before anybody is paid: an answer that does not know whom the money is from cannot say whether
  // that address is barred.
  const party = await asking.counterparty(check)
  if ('wait_ms' in party) return { state: 'wait', ms: party.wait_ms }
  let failed: string | undefined
  // Our own engine first where all are asked: if it has to wait, nobody else is paid for nothing.
  const names =
    route.mode === 'maximum'
      ? route.use.toSorted((a, b) => Number(b === EMBEDDED) - Number(a === EMBEDDED))
      : route.use
  for (const name of names) {
    if (name === EMBEDDED) {
      const answered = await asking.inside(check)
      if (answered?.state === 'failed') return { ...answered, answers }
      if (answered?.state !== 'completed')
        return { state: 'wait', ms: answers.length > 0 ? WAIT_ASKED_MS : WAIT_MS, answers }
      const { result } = answered
      found.push({
        name,
        outcome: result.outcome,
        facts: JSON.parse(result.evidence) as Fact,
        embedded: result,
      })
    } else {
      const asked = await askOne(asking, name, check)
      answers.push(asked.answer)
      if ('failure' in asked) failed ??= `provider_${asked.failure}`
      else found.push(asked.found)
    }
    const scored = found.some(({ outcome }) => outcome !== undefined)
    if (route.mode === 'first' && scored) break
    if (route.mode === 'maximum' && failed) break
  }
  const scored = found.filter(
    (one): one is ProviderFindings & { outcome: Outcome } => one.outcome !== undefined,
  )
  if (scored.length === 0 || (route.mode === 'maximum' && failed)) {
    return { state: 'failed', error: failed ?? 'provider_no_score', answers }
  }
  const { address } = party
  const { customer_id } = check
  const bars = address === undefined ? undefined : await asking.bars({ address, customer_id })
  const result = combine(asking.policy, check, { scored, found, bars })
  return { state: 'completed', result, answers }
}

type ProviderOutcome = { answer: OutsideAnswer } & (
  | { found: ProviderFindings }
  | { failure: string }
)

async function askOne(
  { providers, policy }: ProviderQuestion,
  name: string,
  check: Check,
): Promise<ProviderOutcome> {
  const provider = providers.find((one) => one.name === name)
  if (!provider?.covers(check)) {
    const error = provider
      ? `it does not screen such a thing: ${check.network}/${check.type}`
      : 'it is not configured'
    return {
      answer: { provider: name, outcome: 'unsupported', body: new Uint8Array(), error },
      failure: 'unsupported',
    }
  }
  const { type, network, address, hash, direction } = check
  try {
    const answer = await provider.screen(
      { type, network, address, hash, direction },
      new AbortController().signal,
    )
    const outcome = answer.score === undefined ? undefined : outcomeOf(policy, answer, answer.score)
    const facts = {
      provider: name,
      reference: answer.reference,
      body_sha256: sha256Of(answer.body),
    }
    return {
      answer: { provider: name, outcome: 'answered', body: answer.body, error: null },
      found: { name, outcome, facts, embedded: undefined },
    }
  } catch (thrown) {
    if (!(thrown instanceof ProviderFailure)) throw thrown
    const error = errorText(thrown.message)
    return {
      answer: { provider: name, outcome: thrown.kind, body: thrown.body, error },
      failure: thrown.kind,
    }
  }
}

const MILLIONTHS = 1_000_000

function outcomeOf(
  policy: Policy,
  { blacklist, level, shares }: ProviderAnswer,
  score: number,
): Outcome {
  const { amounts } = noExposure()
  for (const { category, share } of shares) {
    amounts[categoryNumber(category) ?? UNIDENTIFIED]! += BigInt(Math.round(share * MILLIONTHS))
  }
  const known = amounts.reduce((sum, amount) => sum + amount, 0n)
  if (known < BigInt(MILLIONTHS)) amounts[UNIDENTIFIED]! += BigInt(MILLIONTHS) - known
  const tenths = BigInt(blacklist ? 1_000 : Math.round(score * 10))
  const text = `${tenths / 10n}.${tenths % 10n}`
  return {
    factors: factorsOf(policy, amounts),
    base_score: text,
    raw_score: text,
    score: text,
    level: blacklist ? 'high' : (level ?? levelOf(policy, tenths, false)),
    blacklist,
    floors: [],
  }
}

const LEVELS: readonly Outcome['level'][] = ['low', 'medium', 'high']

/** By score; of equal scores the one that bars is the worse, and then the higher level. */
function isWorse(a: Outcome, b: Outcome): boolean {
  if (a.score !== b.score) return Number(a.score) > Number(b.score)
  if (a.blacklist !== b.blacklist) return a.blacklist
  return LEVELS.indexOf(a.level) > LEVELS.indexOf(b.level)
}

const NOT_LOOKED_AT =
  'It was not known whom the transaction is from or to: our lists were not looked at.'

const notAskedNote = (bars: Bars) =>
  `Whether the issuers of ${notAsked(bars).join(', ')} froze the address before block ` +
  `${bars.first_block} is not known: no node could be asked.`

function combine(
  policy: Policy,
  check: Check,
  {
    scored,
    found,
    bars,
  }: {
    scored: readonly (ProviderFindings & { outcome: Outcome })[]
    found: readonly ProviderFindings[]
    bars: Bars | undefined
  },
): Result {
  const worst = scored.reduce((a, b) => (isWorse(b.outcome, a.outcome) ? b : a))
  const embedded = found.find((one) => one.embedded)?.embedded
  // Where our own engine alone has answered after all, its evidence stands as it is, and the check
  // can be replayed.
  if (embedded && found.length === 1) return embedded
  const blacklisted_by = bars ? barReasons(bars) : []
  const outcome = blacklisted_by.length > 0 ? barred(worst.outcome) : worst.outcome
  const { factors, score, level, blacklist } = outcome
  const facts: Fact = {
    engine: ENGINE,
    asked: {
      type: check.type,
      network: check.network,
      address: check.address,
      hash: check.hash,
      direction: check.direction,
      at: check.created_at.toISOString(),
    },
    policy: { name: policy.name, version: String(policy.version) },
    bars: bars ? barsFact(bars) : null,
    blacklisted_by,
    ...(!bars && { notes: [NOT_LOOKED_AT] }),
    ...(bars && notAsked(bars).length > 0 && { notes: [notAskedNote(bars)] }),
    answered_by: worst.name,
    answers: found.map((one) => ({
      name: one.name,
      score: one.outcome?.score ?? null,
      level: one.outcome?.level ?? null,
      blacklist: one.outcome?.blacklist ?? false,
      facts: one.facts,
    })),
    result: {
      risk_score: score,
      risk_level: level,
      blacklist,
      risk_factors: factors.map(({ score, ...factor }) => ({ ...factor, score: score.toFixed(4) })),
    },
  }
  const provider = found.map(({ name }) => name).join('+')
  return {
    outcome,
    evidence: canonical(facts),
    provider,
    policy: policy.version,
    index: embedded?.index,
    bars,
  }
}

/** Keeps what providers said, byte for byte. */
export function storeAnswers(
  tx: Tx,
  rows: readonly (OutsideAnswer & { check_id: string })[],
  now: Date,
): void {
  if (rows.length === 0) return
  tx.send`
    insert into aml_answer (check_id, provider, outcome, body, sha256, received_at, error)
    select check_id, provider, outcome, body, encode(sha256(body), 'hex'), ${now}, error
    from unnest(${rows.map((row) => row.check_id)}::text[],
                ${rows.map((row) => row.provider)}::text[],
                ${rows.map((row) => row.outcome)}::text[],
                ${rows.map((row) => Buffer.from(row.body))}::bytea[],
                ${rows.map((row) => row.error)}::text[])
      as a (check_id, provider, outcome, body, error)`
}
