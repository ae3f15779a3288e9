// Calls as they are: any endpoint by its path, and what is signed.

import { readFile } from 'node:fs/promises'
import { type Endpoints, NotFound, signer } from 'penstock-sdk'
import { InvalidReceipt, type Jwks, verifyReceipt } from 'penstock-sdk/receipts'
import { type Command, field, type Outcome } from '../line/command.ts'
import { Misuse, Refusal } from '../line/errors.ts'
import type { Io } from '../line/io.ts'
import { cleaned, jsonText } from '../line/printing.ts'

const PATH = field('path', 'of the endpoint: /v1/balance', { needed: true })
const BODY = field('body', 'JSON; - reads standard input; {} when left out')

async function bodyText(given: unknown, io: Io): Promise<string> {
  const text = given === '-' ? await io.input() : ((given as string | undefined) ?? '{}')
  try {
    JSON.parse(text)
    return text
  } catch {
    throw new Misuse('The body is no JSON.')
  }
}

function pathOf(given: unknown): string {
  if (!/^\/v1\/[\w/-]+$/.test(String(given)))
    throw new Misuse(`${given} is no path like /v1/balance.`)
  return String(given)
}

export const RAW: readonly Command[] = [
  {
    words: 'call',
    summary: 'Call an endpoint by its path',
    also: [],
    operands: ['path', 'body'],
    own: [PATH, BODY, field('idempotency_key', 'an id of yours, sent in Idempotency-Key')],
    repeat_by: '--idempotency-key',
    async run({ penstock, own, io }): Promise<Outcome> {
      const path = pathOf(own.path) as keyof Endpoints
      const body = JSON.parse(await bodyText(own.body, io)) as never
      const idempotency_key = own.idempotency_key as string | undefined
      const value = await penstock.call(path, body, { signal: io.signal, idempotency_key })
      return { value, text: jsonText(value, 2) }
    },
  },
  {
    words: 'sign',
    summary: 'The bytes that are hashed for a call, and its headers; nothing is sent',
    also: [],
    operands: ['path', 'body'],
    own: [PATH, BODY],
    async run({ access, own, io }): Promise<Outcome> {
      const path = pathOf(own.path)
      const body = await bodyText(own.body, io)
      const call = { path, body, now_ms: Date.now(), idempotency_key: undefined }
      const headers = await signer(access.token, access.secret)(call)
      const { 'x-timestamp': timestamp, 'x-nonce': nonce } = headers
      const value = {
        x_signature_is_of: `${body}<secret>`,
        x_signature_v2_is_of: `${timestamp}\n${nonce}\nPOST\n${path}\n<sha256 of the body>`,
        headers: { ...headers, authorization: 'Bearer <token>' },
      }
      return { value }
    },
  },
  {
    words: 'receipts get',
    summary: 'The signed proof of what an order got: a JWS',
    path: '/v1/receipt',
    operands: ['id'],
    async run({ penstock, body, io }): Promise<Outcome> {
      const value = await penstock.receipts.get(body, { signal: io.signal })
      return { value, text: `${cleaned(value.jws)}\n` }
    },
  },
  {
    words: 'receipts verify',
    summary: 'Whether a receipt is what a key of the service has signed',
    operands: ['file'],
    also: ['/.well-known/jwks.json'],
    offline: ({ keys }) => keys !== undefined,
    own: [
      field('file', 'the receipt: a JWS', { needed: true }),
      field('keys', 'a file that has the keys; asked of the service when left out'),
    ],
    async run({ penstock, own, io }): Promise<Outcome> {
      const jws = await fileText(String(own.file))
      try {
        const keys =
          own.keys === undefined
            ? await penstock.receipts.keys({ signal: io.signal })
            : JSON.parse(await fileText(String(own.keys)))
        return { value: await verifyReceipt(jws.trim(), keys as Jwks) }
      } catch (thrown) {
        if (thrown instanceof InvalidReceipt || thrown instanceof SyntaxError)
          throw new Refusal(thrown.message)
        throw thrown
      }
    },
  },
  {
    words: 'deposits public',
    summary: 'What became of what anybody has sent to the address that is public',
    operands: ['tx_id'],
    also: ['/deposits/{tx_id}'],
    own: [field('tx_id', 'the transaction on the chain', { needed: true })],
    async run({ penstock, own, io }): Promise<Outcome> {
      const tx_id = String(own.tx_id)
      const value = await penstock.deposits
        .checkPublic(tx_id, { signal: io.signal })
        .catch((thrown: unknown) => {
          if (thrown instanceof NotFound)
            throw new Refusal(`No block has the transaction ${tx_id}.`)
          throw thrown
        })
      return { value }
    },
  },
  {
    words: 'deposits from',
    summary: 'What an address has sent to the address that is public in the last 24 hours',
    operands: ['address'],
    also: ['/deposits/from/{address}'],
    own: [field('address', 'the address that has sent it', { needed: true })],
    async run({ penstock, own, io }): Promise<Outcome> {
      const asked = { signal: io.signal }
      return { value: await penstock.deposits.listPublic(String(own.address), asked) }
    },
  },
]

const fileText = (name: string) =>
  readFile(name, 'utf8').catch(({ code }: NodeJS.ErrnoException) => {
    throw new Refusal(`${name} cannot be read: ${code}.`)
  })
