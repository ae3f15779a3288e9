// The offer without an account, and how payments go on: asked of the service's public pages.

import { useSignal } from '@preact/signals'
import type { Result } from 'penstock-sdk'
import { useEffect } from 'preact/hooks'
import { type Envelope, Fault, NOT_ANSWERED } from '../../shared/calls/ask.ts'
import type { Question } from '../../shared/calls/question.ts'
import type { Rate } from './payment.ts'

export type Offer = {
  /** Where TRX is sent to. */
  address: string
  rates: readonly Rate[]
  /** TRX for 1000 energy that are burned for; undefined: not known. */
  burning: number | undefined
}

export type Recharge = Omit<Result<'/v1/deposits/list'>['items'][number], 'solid_in_blocks'>

const LOOK_MS = 3_000
/** Prices change, and sales stop: an offer that was not confirmed lately is taken off the page. */
const OFFER_LOOK_MS = 30_000
const OFFER_AGE_MS_MAX = 120_000

async function fetchJson<Answer>(url: string, asked: RequestInit = {}): Promise<Answer> {
  const answer = await fetch(url, asked).catch(() => undefined)
  const said = (await answer?.json().catch(() => undefined)) as Envelope | undefined
  if (said === undefined) throw new Fault({ code: NOT_ANSWERED, key: 'offline', error: '' })
  if (!answer?.ok || (said.code ?? 0) !== 0) throw new Fault({ ...said, error: said.error ?? '' })
  return said as Answer
}

const askAnybody = <Path extends '/v1/direct-recharge-info'>(path: Path) =>
  fetchJson<{ result: Result<Path> }>(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  })

async function readOffer(): Promise<Offer> {
  const [{ result }, status] = await Promise.all([
    askAnybody('/v1/direct-recharge-info'),
    // Without it nothing is compared.
    fetchJson<{ burning: number | null }>('/status.json').catch(() => undefined),
  ])
  const { address, rates } = result
  return { address, rates, burning: status?.burning ?? undefined }
}

/** Looks at once, at each interval, and when the page comes into sight again. Returns what ends
 *  it. */
function whileInSight(look: () => Promise<void>, every_ms: number): () => void {
  const lookNow = () => void (document.visibilityState === 'hidden' || look())
  void look()
  const timer = setInterval(lookNow, every_ms)
  document.addEventListener('visibilitychange', lookNow)
  return () => {
    clearInterval(timer)
    document.removeEventListener('visibilitychange', lookNow)
  }
}

export function useOffer(): Question<Offer> {
  const answer = useSignal<Offer | undefined>(undefined)
  const fault = useSignal<Fault | undefined>(undefined)
  const answered_at = useSignal(0)
  const again = async () => {
    const said = await readOffer().catch((thrown: unknown) => Fault.of(thrown))
    if (said instanceof Fault) {
      const is_over = Date.now() - answered_at.value > OFFER_AGE_MS_MAX
      if (said.code !== NOT_ANSWERED || is_over) answer.value = undefined
      fault.value = said
      return
    }
    answer.value = said
    fault.value = undefined
    answered_at.value = Date.now()
  }
  useEffect(() => whileInSight(again, OFFER_LOOK_MS), [])
  return { answer, fault, answered_at, again }
}

export type Payments = {
  recharges: readonly Recharge[]
  /** The service cannot be reached, or does not answer that often. */
  is_old: boolean
  /** The service knows no such address: a character of it is another. */
  is_wrong: boolean
}

const BAD_REQUEST = 400
const NOTHING: Payments = { recharges: [], is_old: false, is_wrong: false }

/** The payments of an address in the last day, looked at every three seconds while the page is in
 *  sight. Undefined: nothing was answered yet; `address` undefined: nothing is asked. */
export function useRecharges(address: string | undefined) {
  const found = useSignal<Payments | undefined>(undefined)
  useEffect(() => {
    let is_over = false
    found.value = undefined
    if (address === undefined) return
    const look = async () => {
      const url = `/deposits/from/${encodeURIComponent(address)}`
      const said = await fetchJson<{ result: { deposits: Recharge[] } }>(url).catch(Fault.of)
      if (is_over) return
      const before = found.value ?? NOTHING
      if (!(said instanceof Fault)) found.value = { ...NOTHING, recharges: said.result.deposits }
      else if (said.code === BAD_REQUEST) found.value = { ...NOTHING, is_wrong: true }
      else found.value = { ...before, is_old: true }
    }
    const end = whileInSight(look, LOOK_MS)
    return () => {
      is_over = true
      end()
    }
  }, [address])
  return found
}
