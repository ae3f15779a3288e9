// Starts the reader on the reference and signs what it sends. Token and secret are in the two
// fields of the page and nowhere else: a reload forgets them, and of the secret only signatures are
// sent. A call carries both signatures, so that keys can be tried that take no other; the first
// alone only when that is chosen.

import { sign, signV2 } from './sign.js'

const field = (id) => document.getElementById(id)

/** The path as the service knows it, wherever a proxy may have mounted it. */
function pathOf(url) {
  const { pathname } = new URL(url, document.baseURI)
  return pathname.slice(Math.max(0, pathname.lastIndexOf('/v1/')))
}

async function secondSignature({ url, method, headers, body = '' }, secret) {
  const timestamp = String(Math.floor(Date.now() / 1000))
  const nonce = crypto.randomUUID()
  const stamped = { timestamp, nonce, method, path: pathOf(url), body }
  const idempotency_key = headers['Idempotency-Key']
  const signature = await signV2({ ...stamped, idempotency_key }, secret)
  return { 'X-Timestamp': timestamp, 'X-Nonce': nonce, 'X-Signature-V2': signature }
}

/** Adds the headers of a signed call to what the reader is about to send. */
async function signed(request) {
  const token = field('token').value.trim()
  const secret = field('secret').value.trim()
  if (request.loadSpec || request.method !== 'POST' || !token || !secret) return request
  request.headers.Authorization = `Bearer ${token}`
  request.headers['X-Signature'] = await sign(request.body ?? '', secret)
  if (!field('first-only').checked)
    Object.assign(request.headers, await secondSignature(request, secret))
  return request
}

const nothing = () => () => null

/** What it says of itself stands outside of its main part. */
const withPlace =
  (About, { React }) =>
  (props) =>
    React.createElement('section', { 'aria-label': 'About' }, React.createElement(About, props))

/** The reader has no heading between its title and those of the groups. */
const withHeading =
  (Calls, { React }) =>
  (props) =>
    React.createElement(
      React.Fragment,
      null,
      React.createElement('h2', { className: 'calls' }, 'Calls'),
      React.createElement(Calls, props),
    )

/** What the reader gives no name, and what scrolls without the keyboard reaching it. */
const MENDED = [
  ['.body-param__text', 'aria-label', 'Body'],
  ['.examples-select-element', 'aria-label', 'Example'],
  ['.content-type', 'aria-label', 'Type of the content'],
  ['pre.microlight', 'tabindex', '0'],
]

/** Calls are drawn when they are opened: each gets what it lacks then. */
function mend() {
  for (const [selector, name, value] of MENDED)
    for (const element of field('reader').querySelectorAll(`${selector}:not([${name}])`))
      element.setAttribute(name, value)
}
new MutationObserver(mend).observe(field('reader'), { childList: true, subtree: true })

if (!globalThis.crypto?.subtle) field('insecure').hidden = false

SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#reader',
  requestInterceptor: signed,
  validatorUrl: null,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: -1,
  // A signature belongs to one body, so there is nothing to enter once and for all.
  plugins: [
    () => ({
      wrapComponents: {
        authorizeBtn: nothing,
        authorizeOperationBtn: nothing,
        // What is called is the service that serves the page, and no other.
        ServersContainer: nothing,
        operations: withHeading,
        InfoContainer: withPlace,
      },
    }),
  ],
})
