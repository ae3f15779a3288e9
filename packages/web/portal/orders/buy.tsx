// Buying by hand: what, for whom, how much; the price that then binds for a minute; and the order.
// The id under which it is bought is made before the first try, so that trying again never buys
// twice.

import { useSignal } from '@preact/signals'
import type { Body } from 'penstock-sdk'
import { useEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { ask } from '../../shared/calls/ask.ts'
import { newExternalId } from '../../shared/calls/ids.ts'
import { useQuestion } from '../../shared/calls/question.ts'
import { useSubmission } from '../../shared/calls/submission.ts'
import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
import { FaultNote } from '../../shared/parts/answer.tsx'
import { CodeSamples } from '../../shared/parts/code.tsx'
import { ChoiceField, Form, Submit, TextField } from '../../shared/parts/field.tsx'
import { Money } from '../../shared/parts/money.tsx'
import { path } from '../../shared/paths/portal.ts'
import { count, named, say } from '../../shared/words/words.ts'
import { AddressNow, KnownAddresses } from './buy_address.tsx'
import { type Quote, QuotePanel } from './buy_quote.tsx'

/** What is in the form. */
type Wish = {
  service: string
  address: string
  energy: string
  bandwidth: string
  /** Who receives the tokens, when it is for a transfer. */
  to: string
}

const SERVICES = ['energy', 'transfer', 'bandwidth', 'resource_bundle', 'activate_address']
/** How much energy one mostly needs, and for what. */
const PRESETS = [
  { amount: 32_000, use: 'buy.use_small' },
  { amount: 65_000, use: 'buy.use_usdt' },
  { amount: 131_000, use: 'buy.use_usdt_new' },
] as const
const DEFAULT_ENERGY = '65000'
const DEFAULT_BANDWIDTH = '1000'

const ADDRESS = /^T[1-9A-HJ-NP-Za-km-z]{33}$/
const WHOLE = /^\d{1,12}$/

/** What is wrong with the fields, by their names. */
function wrongs({
  service,
  address,
  energy,
  bandwidth,
  to,
}: Wish): Partial<Record<keyof Wish, string>> {
  const found: Partial<Record<keyof Wish, string>> = {}
  if (!ADDRESS.test(address)) found.address = say('buy.wrong_address')
  if (service === 'transfer' && !ADDRESS.test(to)) found.to = say('buy.wrong_address')
  if (hasEnergy(service) && !WHOLE.test(energy)) found.energy = say('buy.wrong_amount')
  if (hasBandwidth(service) && !WHOLE.test(bandwidth)) found.bandwidth = say('buy.wrong_amount')
  return found
}

const hasEnergy = (service: string) => service === 'energy' || service === 'resource_bundle'
const hasBandwidth = (service: string) => service === 'bandwidth' || service === 'resource_bundle'

type Purchase = Body<'/v1/transaction/new'>

/** The body of a purchase; that of a transfer is only known with its price. */
function purchaseOf({ service, address, energy, bandwidth }: Wish): Purchase {
  const params: Purchase['params'] = { address }
  if (service !== 'activate_address') params.duration = 1
  if (service === 'energy') params.amount = Number(energy)
  if (service === 'bandwidth') params.amount = Number(bandwidth)
  if (service === 'resource_bundle')
    params.amounts = { energy: Number(energy), bandwidth: Number(bandwidth) }
  return { service: service as Purchase['service'], params }
}

const quoteOf = (wish: Wish): Body<'/v1/quote/new'> =>
  wish.service === 'transfer'
    ? { transfer: { from: wish.address, to: wish.to } }
    : (purchaseOf(wish) as Body<'/v1/quote/new'>)

export default function Buy({ query }: PageProps) {
  const { route } = useLocation()
  const wish = useSignal<Wish>({
    service: SERVICES.includes(query.service ?? '') ? query.service! : 'energy',
    address: query.address ?? '',
    energy: query.energy ?? DEFAULT_ENERGY,
    bandwidth: query.bandwidth ?? DEFAULT_BANDWIDTH,
    to: '',
  })
  const wrong = useSignal<Partial<Record<keyof Wish, string>>>({})
  const offer = useSignal<{ quote: Quote; external_id: string } | undefined>(undefined)
  const submission = useSubmission()
  // A purchase that is under way, or whose answer was lost, keeps its id: no other takes its place.
  const is_tried = useSignal(false)
  const set = (change: Partial<Wish>) => {
    wish.value = { ...wish.value, ...change }
    wrong.value = {}
    submission.fault.value = undefined
    if (!is_tried.value) offer.value = undefined
  }
  const price = () => {
    wrong.value = wrongs(wish.value)
    if (is_tried.value || Object.keys(wrong.value).length > 0) return
    void submission.run(async () => {
      const quote = await ask('/v1/quote/new', quoteOf(wish.value))
      offer.value = { quote, external_id: newExternalId() }
    })
  }
  return (
    <>
      <Title title={say('buy')} />
      <div class="panels">
        <section class="panel">
          <Form
            onSubmit={price}
            wrong={submission.fault.value && <FaultNote fault={submission.fault.value} />}
          >
            <WishFields wish={wish.value} wrong={wrong.value} set={set} />
            <Submit is_busy={submission.is_busy.value}>{say('buy')}</Submit>
          </Form>
          <Code wish={wish.value} />
        </section>
        {offer.value === undefined ? (
          <Estimate wish={wish.value} />
        ) : (
          <QuotePanel
            key={offer.value.quote.id}
            {...offer.value}
            onTried={(tried) => {
              is_tried.value = tried
            }}
            onBought={(id) => route(path.order(id))}
            again={price}
          />
        )}
      </div>
    </>
  )
}

/** After the last key, in milliseconds. */
const TYPED_MS = 400

/** The price while one types: it is not binding, and leaves no row. */
function Estimate({ wish }: { wish: Wish }) {
  const settled = useSignal<Wish | undefined>(undefined)
  useEffect(() => {
    const timer = setTimeout(() => {
      settled.value = wish
    }, TYPED_MS)
    return () => clearTimeout(timer)
  }, [wish])
  const { service, address } = wish
  const is_resource = service === 'energy' || service === 'bandwidth'
  const is_whole = settled.value === wish && Object.keys(wrongs(wish)).length === 0
  return (
    <section class="panel" aria-label={say('quote')}>
      <h2>{say('quote')}</h2>
      {is_whole && is_resource ? (
        <ResourcePrice type={service} address={address} amount={Number(wish[service])} />
      ) : (
        <p class="quiet">{say('quote.before')}</p>
      )}
    </section>
  )
}

type ResourcePriceProps = { type: 'energy' | 'bandwidth'; address: string; amount: number }

function ResourcePrice(asked: ResourcePriceProps) {
  const { answer, fault } = useQuestion('/v1/calculate', { ...asked, duration: 1 })
  if (fault.value) return <FaultNote fault={fault.value} />
  if (!answer.value) return <p class="quiet">{say('quote.before')}</p>
  return (
    <>
      <p class="headline" role="status">
        <Money trx={answer.value.total} />
      </p>
      <p class="quiet">{say('quote.estimate')}</p>
    </>
  )
}

type WishFieldsProps = {
  wish: Wish
  wrong: Partial<Record<keyof Wish, string>>
  set: (change: Partial<Wish>) => void
}

function WishFields({ wish, wrong, set }: WishFieldsProps) {
  const { service, address, energy, bandwidth, to } = wish
  const serviceText = (value: string) =>
    value === 'transfer' ? say('buy.transfer') : named('service', value)
  return (
    <>
      <ChoiceField
        label={say('order.service')}
        value={service}
        choices={SERVICES.map((value) => ({ value, text: serviceText(value) }))}
        onChoice={(value) => set({ service: value })}
      />
      <TextField
        label={service === 'transfer' ? say('buy.from') : say('order.address')}
        hint={say('buy.address_hint')}
        wrong={wrong.address}
        value={address}
        onText={(value) => set({ address: value.trim() })}
      />
      <KnownAddresses onAddress={(value) => set({ address: value })} />
      {ADDRESS.test(address) && <AddressNow address={address} />}
      {service === 'transfer' && (
        <TextField
          label={say('buy.to')}
          wrong={wrong.to}
          value={to}
          onText={(value) => set({ to: value.trim() })}
        />
      )}
      {hasEnergy(service) && (
        <>
          <TextField
            label={say('buy.energy')}
            inputMode="numeric"
            wrong={wrong.energy}
            value={energy}
            onText={(value) => set({ energy: digitsOf(value) })}
          />
          <p class="actions">
            {PRESETS.map(({ amount, use }) => (
              <button
                key={amount}
                type="button"
                class="small preset"
                aria-pressed={energy === String(amount)}
                onClick={() => set({ energy: String(amount) })}
              >
                {count(amount)} <span class="quiet">{say(use)}</span>
              </button>
            ))}
          </p>
        </>
      )}
      {hasBandwidth(service) && (
        <TextField
          label={say('buy.bandwidth')}
          inputMode="numeric"
          wrong={wrong.bandwidth}
          value={bandwidth}
          onText={(value) => set({ bandwidth: digitsOf(value) })}
        />
      )}
    </>
  )
}

/** `65,000` and `65 000` as one may type them. */
const digitsOf = (typed: string): string => typed.replace(/[\s,.'\u2009]/g, '')

const EXAMPLE_ADDRESS = 'TXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX'

/** The same purchase by a program. */
function Code({ wish }: { wish: Wish }) {
  const address = ADDRESS.test(wish.address) ? wish.address : EXAMPLE_ADDRESS
  if (wish.service === 'transfer') {
    const transfer = { from: address, to: wish.to || EXAMPLE_ADDRESS }
    return (
      <CodeSamples
        sdk={`penstock.quotes.create(${JSON.stringify({ transfer })})`}
        cli={`penstock quote --transfer-from ${transfer.from} --transfer-to ${transfer.to}`}
      />
    )
  }
  const body = { ...purchaseOf({ ...wish, address }), external_id: 'order-1' }
  const { service } = wish
  const amount = { energy: wish.energy, bandwidth: wish.bandwidth }[service] ?? ''
  return (
    <CodeSamples
      call={{ path: '/v1/transaction/new', body }}
      sdk={`penstock.orders.create(${JSON.stringify(body)})`}
      cli={`penstock buy ${service} ${address} ${amount} --external-id order-1 --wait`}
    />
  )
}
