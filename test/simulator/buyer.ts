// The customers: what they ask for, how they ask again when an answer is lost, and what they hold
// against the service. An answer that contradicts an earlier one, a wrong price or a refusal that
// was not due is a finding.

import { keyV2, signature, signatureV2 } from 'penstock-service/platform/wire/signature.ts'
import type { Address } from 'penstock-tron/address.ts'
import type { Dice } from './dice.ts'
import type { Instance } from './instance.ts'

export type Access = {
  customer_id: string
  token: string
  secret: string
  deposit_address: Address
}

type Params = {
  address: Address
  duration?: number
  amounts?: { energy?: number; bandwidth?: number }
  amount?: number
  activate_address?: boolean
}

/** One thing that a customer wants. */
export type Wish = {
  number: number
  who: Access
  service: 'energy' | 'bandwidth' | 'resource_bundle' | 'activate_address'
  params: Params
  external_id: string | undefined
  /** It is bought by a quote: the one that was given last, and its price in TRX. */
  by_quote: boolean
  quote: { id: string; amount: number } | undefined
  /** How many calls that accept it have no answer. */
  accepting: number
  /** How often it was asked for. */
  asked: number
  /** The order's id, once it was told. */
  id: string | undefined
  status: string | undefined
}

export type Reply = { code: number; key?: string; error?: string; result?: Record<string, unknown> }

const CODES_OF_A_PURCHASE = new Set([0, 6, 24, 25, 35])
/** Its time is over, or so long over that it is forgotten. */
const QUOTE_IS_OVER = [71, 70]
/** A second signature that is older when it is looked at proves nothing: the call is lost. */
const SIGNATURE_MS_MAX = 299_000

/** Whether asking again for the same thing means the same purchase. */
export const hasName = ({ external_id, quote }: Wish): boolean =>
  external_id !== undefined || quote !== undefined

const energies = [32_000, 65_000, 65_000, 64_999, 131_000]
const bandwidths = [300, 345, 1_000]

/** Draws a wish: mostly energy, of every service some, to addresses that exist or not. */
export function drawWish(
  dice: Dice,
  of: { who: Access; active: readonly Address[]; inactive: readonly Address[] },
  number: number,
): Wish {
  const service = dice.weighted({
    energy: 6,
    bandwidth: 2,
    resource_bundle: 3,
    activate_address: 1,
  })
  const dormant = dice.chance(service === 'activate_address' ? 0.9 : 0.25)
  const address = dice.pick(dormant ? of.inactive : of.active)
  const activate_address = dice.chance(dormant ? 0.8 : 0.1)
  return {
    number,
    who: of.who,
    service,
    params: {
      address,
      ...drawAmounts(dice, service),
      ...(activate_address && { activate_address }),
    },
    external_id: dice.chance(0.8) ? `wish ${number}` : undefined,
    by_quote: dice.fork(`quote ${number}`).chance(0.25),
    quote: undefined,
    accepting: 0,
    asked: 0,
    id: undefined,
    status: undefined,
  }
}

function drawAmounts(dice: Dice, service: Wish['service']): Partial<Params> {
  const energy = dice.pick(energies)
  const bandwidth = dice.pick(bandwidths)
  if (service === 'activate_address') return {}
  if (service === 'resource_bundle') return { duration: 1, amounts: { energy, bandwidth } }
  const amount = service === 'energy' ? energy : bandwidth
  return dice.chance(0.5)
    ? { duration: 1, amount }
    : { duration: 1, amounts: { [service]: amount } }
}

type Call = {
  path: string
  body: object
  headers?: Record<string, string>
  /** Of the second signature, which is left out without it. */
  nonce?: string
}

/** Sends a signed call. */
export async function call(
  instance: Instance,
  who: Access,
  { path, body, headers: more, nonce }: Call,
): Promise<Reply> {
  const text = JSON.stringify(body)
  const headers = {
    ...more,
    ...(nonce !== undefined && stamp(instance, who, { path, text, nonce })),
    authorization: `Bearer ${who.token}`,
    'x-signature': signature(Buffer.from(text), who.secret),
    'content-type': 'application/json',
  }
  const sent_ms = instance.clock.now().getTime()
  const reply = JSON.parse((await instance.post(path, headers, text)).body) as Reply
  const age_ms = instance.clock.now().getTime() - sent_ms
  const too_old = nonce !== undefined && reply.code === 1 && age_ms > SIGNATURE_MS_MAX
  return too_old ? { ...reply, code: 500 } : reply
}

/** The second signature. */
function stamp(
  { clock }: Instance,
  { secret }: Access,
  { path, text, nonce }: { path: string; text: string; nonce: string },
): Record<string, string> {
  const timestamp = String(Math.floor(clock.now().getTime() / 1_000))
  const signed = { timestamp, nonce, method: 'POST', path, body: Buffer.from(text) }
  return {
    'x-timestamp': timestamp,
    'x-nonce': nonce,
    'x-signature-v2': signatureV2(keyV2(secret), signed),
  }
}

/** Asks for a wish. Returns what is wrong with the answer. */
export async function ask(
  instance: Instance,
  wish: Wish,
): Promise<{ code: number; objection: string | undefined }> {
  wish.asked += 1
  return wish.by_quote ? askByQuote(instance, wish, wish.asked) : askForPrice(instance, wish)
}

async function askForPrice(instance: Instance, wish: Wish) {
  const { service, params, external_id } = wish
  const before = { ...wish }
  const reply = await call(instance, wish.who, {
    path: '/v1/transaction/new',
    body: { service, params, external_id },
  })
  return { code: reply.code, objection: judge(wish, before, reply) }
}

/** Has a quote given, unless there is one, and accepts it. Twins may have one each: the last that
 *  was given counts for both. */
async function askByQuote(instance: Instance, wish: Wish, asked: number) {
  const { service, params, external_id, who, number } = wish
  if (!wish.quote) {
    const path = '/v1/quote/new'
    const reply = await call(instance, who, {
      path,
      body: { service, params },
      nonce: `${number}.${asked}.new`,
    })
    const { code, result } = reply
    // A new quote may be refused while its twin, by an earlier one, has bought already.
    if (code !== 0) return { code, objection: judge(wish, { ...wish, id: undefined }, reply) }
    wish.quote ??= { id: String(result?.id), amount: Number(result?.amount) }
  }
  const before = { ...wish }
  const path = '/v1/quote/accept'
  const body = { id: wish.quote.id, external_id }
  wish.accepting += 1
  const reply = await call(instance, who, { path, body, nonce: `${number}.${asked}.accept` })
  wish.accepting -= 1
  const { code, result } = reply
  if (QUOTE_IS_OVER.includes(code) && before.id === undefined) {
    // The next time another one is asked for, unless this one may yet have bought something.
    if (wish.accepting === 0 && wish.quote?.id === before.quote?.id) wish.quote = undefined
    return { code, objection: undefined }
  }
  const dearer = code === 0 && Number(result?.amount) > before.quote!.amount
  const objection = dearer
    ? `charged ${result?.amount} TRX for a quote of ${before.quote!.amount}`
    : judge(wish, before, reply)
  return { code, objection }
}

/** `before` is what was known when it was asked for: answers may overtake one another. */
function judge(wish: Wish, before: Wish, reply: Reply): string | undefined {
  const { code, result } = reply
  if (code !== 0) {
    if (code === 500) return undefined
    if (before.id !== undefined) return `refused with ${code} what was sold as ${before.id}`
    return CODES_OF_A_PURCHASE.has(code)
      ? undefined
      : `refused with ${code} ${reply.key}: ${reply.error}`
  }
  const id = String(result?.id)
  if (wish.id !== undefined && id !== wish.id) return `sold twice: ${wish.id} and ${id}`
  if (wish.external_id !== undefined && result?.external_id !== wish.external_id)
    return `answers for ${result?.external_id}`
  wish.id = id
  return (
    judgePrice(wish, Number(result?.amount)) ??
    judgeStatus(wish, before.status, String(result?.status))
  )
}

/** The shipped prices, in TRX, by the rules as published; an activation may be on top. */
function judgePrice({ params, service }: Wish, charged: number): string | undefined {
  const { amount, amounts } = params
  const energy = service === 'energy' ? (amount ?? amounts?.energy ?? 0) : (amounts?.energy ?? 0)
  const bandwidth =
    service === 'bandwidth' ? (amount ?? amounts?.bandwidth ?? 0) : (amounts?.bandwidth ?? 0)
  const cents =
    Math.round((energy * (energy >= 131_000 ? 42 : 45)) / 10_000) +
    Math.round((bandwidth * 1_000) / 10_000)
  const paid = Math.round(charged * 100)
  const fee = service === 'activate_address' ? [140] : params.activate_address ? [0, 140] : [0]
  return fee.some((one) => cents + one === paid)
    ? undefined
    : `charged ${charged} TRX for ${JSON.stringify(params)}`
}

/** What is final stays. */
function judgeStatus(wish: Wish, before: string | undefined, status: string): string | undefined {
  wish.status = status
  const final = before === 'success' || before === 'failed'
  return final && status !== before ? `order ${wish.id} was ${before} and is ${status}` : undefined
}

/** Looks a purchase up. Returns what is wrong with the answer. */
export async function look(instance: Instance, wish: Wish): Promise<string | undefined> {
  const before = wish.status
  const reply = await call(instance, wish.who, {
    path: '/v1/transaction/check',
    body: { id: wish.id },
  })
  if (reply.code === 500) return undefined
  if (reply.code !== 0) return `order ${wish.id} is not found: ${reply.code}`
  return judgeStatus(wish, before, String(reply.result?.status))
}
