// Starts the reader on the reference and signs what it sends. Token and secret are in the two fields of the page and
// nowhere else: a reload forgets them, and only the signature is sent.

import { sign } from './sign.js'

const field = (id) => document.getElementById(id)

/** Adds the headers of a signed call to what the reader is about to send. */
async function signed(request) {
  const token = field('token').value.trim()
  const secret = field('secret').value.trim()
  if (request.loadSpec || request.method !== 'POST' || !token || !secret) return request
  request.headers.Authorization = `Bearer ${token}`
  request.headers['X-Signature'] = await sign(request.body ?? '', secret)
  return request
}

const nothing = () => () => null

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
  plugins: [() => ({ wrapComponents: { authorizeBtn: nothing, authorizeOperationBtn: nothing } })],
})
