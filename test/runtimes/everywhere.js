// What the SDK does, tried against a whole service. This file names nothing of any runtime, so that
// it runs unchanged on all of them.

import {
  AuthError,
  ConnectionError,
  NotFound,
  Penstock,
  TimeoutError,
  toSun,
  UnknownOutcome,
} from 'penstock-sdk'
import { InvalidReceipt, verifyReceipt } from 'penstock-sdk/receipts'
import { InvalidWebhook, verifyWebhook } from 'penstock-sdk/webhooks'

/** What the documentation of Standard Webhooks signs as an example. */
const CALL = {
  body: '{"test": 2432232314}',
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  headers: {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  },
}

/** A receipt signed with the key of RFC 8037. */
const RECEIPT = [
  'eyJhbGciOiJFZERTQSIsInR5cCI6InBlbnN0b2NrLXJlY2VpcHQranNvbiIsImtpZCI6InJmYzgwMzcifQ',
  'eyJyZWNlaXB0IjoxLCJzdGF0ZSI6InNvbGlkIiwib3JkZXIiOnsiaWQiOiJvLTEifX0',
  'qnuBqX1T1kRxCjPNqCryVXv3CozHlGxpBOgaqbhEoNm3HkpjiKGxNgfuDWxsCyaueZa-bd3q8QK1TgFQ-CmBBQ',
]
const KEY = {
  kty: 'OKP',
  crv: 'Ed25519',
  kid: 'rfc8037',
  x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
}

/** Tries all of it; returns what was tried, and throws at the first thing that is wrong.
 *  `access`: `url`, `token` and `secret` of a service, and an active `address` of its chain. */
export async function everywhere({ address, ...access }) {
  const tried = []
  const is = (what, holds) => {
    if (!holds) throw new Error(`not so: ${what}`)
    tried.push(what)
  }
  const thrownBy = (promise) =>
    promise.then(
      () => undefined,
      (thrown) => thrown,
    )
  const client = (more) => new Penstock({ ...access, allowSecretInBrowser: true, ...more })
  const penstock = client()
  const purchase = { service: 'energy', params: { address, amount: 65_000, duration: 1 } }

  const in_a_page = 'window' in globalThis && 'document' in globalThis
  const refused = await thrownBy(Promise.resolve().then(() => new Penstock(access)))
  is('a secret is refused in a page, and only there', in_a_page === refused instanceof TypeError)

  const { balance, lastResponse } = await penstock.balance.get()
  is('both signatures are accepted', balance > 0 && lastResponse.request_id.length > 10)
  const order = await penstock.orders.create(purchase)
  const { external_id } = order
  const again = await penstock.orders.create({ ...purchase, external_id })
  is('a purchase is made once under its id', again.id === order.id && again.lastResponse.replayed)
  const { status, hash } = await penstock.orders.waitFor(order.id)
  is('it is delivered', status === 'success' && hash.length === 64)
  const check = { type: 'address', network: 'TRX', address }
  const { id } = await penstock.aml.create(check)
  let listed = false
  for await (const one of penstock.aml.list()) listed ||= one.id === id
  is('a list is read', listed)

  const nothing = await thrownBy(penstock.orders.check('nothing'))
  is('what is not there is not found', nothing instanceof NotFound && nothing.code === 20)
  const wrong = await thrownBy(client({ secret: 'another' }).balance.get())
  is('a wrong secret is refused', wrong instanceof AuthError)
  const nobody = client({ url: 'http://127.0.0.1:1', retries: 0 })
  is('nobody is there', (await thrownBy(nobody.balance.get())) instanceof ConnectionError)
  const unknown = await thrownBy(nobody.orders.create({ ...purchase, external_id: 'x' }))
  // Where the runtime says that nobody listened, nothing was sent.
  is(
    'a lost purchase is told',
    unknown instanceof UnknownOutcome ||
      /REFUSED|refused/i.test(
        `${unknown.cause?.code} ${unknown.cause?.cause?.code} ${unknown.cause?.message}`,
      ),
  )
  const silent = (_, { signal }) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  const late = client({ fetch: silent, timeout_ms: 50, retries: 0 })
  is('a call ends in time', (await thrownBy(late.balance.get())) instanceof TimeoutError)
  const lost = await thrownBy(late.orders.create(purchase))
  is('a late purchase is unknown', lost instanceof UnknownOutcome && lost.external_id.length === 32)

  const { body, headers, secret } = CALL
  const when = { now_ms: 1_614_265_330_000 }
  const event = await verifyWebhook(
    body,
    new Headers(headers),
    [`whsec_${'A'.repeat(32)}`, secret],
    when,
  )
  is('a webhook is verified', event.test === 2_432_232_314)
  const altered = await thrownBy(verifyWebhook(`${body} `, headers, secret, when))
  is('an altered one is not', altered instanceof InvalidWebhook)
  const receipt = await verifyReceipt(RECEIPT.join('.'), { keys: [KEY] })
  is('a receipt is verified', receipt.order.id === 'o-1')
  const other = [RECEIPT[0], RECEIPT[1].replace('eyJy', 'eyIy'), RECEIPT[2]].join('.')
  const forged = await thrownBy(verifyReceipt(other, { keys: [KEY] }))
  is('an altered one is not', forged instanceof InvalidReceipt)
  is('money is exact', toSun(2.93) === 2_930_000n)
  return tried
}
