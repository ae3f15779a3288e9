// Receipts, for those who run the service and for those who doubt it: the key that signs them, and
// whether one that somebody holds is right.

import { Type } from 'typebox'
import { refusal } from '../../lib/fault.ts'
import { rotateSigningKey } from '../../market/receipts/signing_keys.ts'
import { compareWithChain, verifyReceipt } from '../../market/receipts/verifying.ts'
import {
  Count,
  Flag,
  ListOf,
  Moment,
  NOTHING,
  OrNull,
  optional,
  Text,
  text,
} from '../../platform/wire/schemas.ts'
import { limited } from '../../screening/labels/lists.ts'
import { change, type LocalNeeds, local, type Terminal } from '../table/operation.ts'

/** Far more than a service has public keys. */
const KEYS_BYTES_MAX = 1 << 20

const Verify = Type.Object({
  jws: text('JWS', 'the receipt'),
  keys: optional(text('KEYS', 'a JSON Web Key Set, as text')),
  service_url: optional(
    text('URL', 'the service whose public keys count (PENSTOCK_PUBLIC_URL, else this machine)'),
  ),
})

/** JSON that somebody else wrote. Throws Refused. */
function parsed(json: string, where: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    throw refusal(`${where} is not JSON.`)
  }
}

/** The JWS of a file: alone, or in the answer that it came in. */
async function readJws(file: string, { readFile }: Terminal): Promise<string> {
  const written = (await readFile(file)).trim()
  if (!written.startsWith('{')) return written
  const answer = parsed(written, file) as { jws?: unknown; result?: { jws?: unknown } }
  const jws = answer.jws ?? answer.result?.jws
  if (typeof jws !== 'string') throw refusal(`${file} has no jws.`)
  return jws
}

/** The public keys as the service publishes them. Throws Outage. */
export async function publishedKeys(
  { download }: Pick<LocalNeeds, 'download'>,
  service_url: string,
): Promise<string> {
  const url = `${service_url.replace(/\/+$/, '')}/.well-known/jwks.json`
  const chunks: Uint8Array[] = []
  const { bytes } = await download(url)
  for await (const chunk of limited(bytes, KEYS_BYTES_MAX, url)) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

export const receiptOperations = [
  local({
    path: '/operator/receipts/verify',
    summary: 'whether a receipt is right: its signature, and what it says of the chain',
    description:
      'FILE has the JWS, or the whole answer of /v1/receipt. With --node-url each transaction is ' +
      'looked up there. It needs no database; the exit code is 1 when something is wrong.',
    body: Verify,
    reply: Type.Object({
      key_id: Text,
      order_id: Text,
      state: Text,
      issued_at: Text,
      asked_node: Flag,
      transactions: ListOf({ what: Text, hash: Text, block_number: Count, wrong: OrNull(Text) }),
    }),
    cli: {
      operands: ['file'],
      extras: Type.Object({
        file: text('FILE', 'the receipt'),
        keys_file: optional(text('FILE', 'the public keys, kept from /.well-known/jwks.json')),
      }),
      node: 'solid',
      filled: ['jws', 'keys'],
      async before({ file, keys_file }, terminal) {
        const jws = await readJws(file, terminal)
        if (keys_file === undefined) return { jws }
        return { jws, keys: await terminal.readFile(keys_file) }
      },
    },
    async handle({ body, ...needs }) {
      const { jws, service_url = needs.publicUrl() } = body
      const set = body.keys ?? (await publishedKeys(needs, service_url))
      const keys = parsed(set, 'The set of public keys')
      const { receipt, key_id } = await verifyReceipt(jws, keys)
      const chain = needs.chain()
      const transactions = chain ? await compareWithChain(chain, receipt) : []
      const { state, issued_at, order } = receipt
      const wrong = transactions.filter((one) => one.wrong !== null)
      const ok = wrong.length === 0
      const rest = chain
        ? `${transactions.length} transactions compared with the chain, ${wrong.length} wrong.`
        : 'No node was asked: --node-url compares it with the chain.'
      return {
        value: {
          key_id,
          order_id: order.id,
          state,
          issued_at,
          asked_node: chain !== undefined,
          transactions,
        },
        note: `The service has signed it. ${rest}`,
        ok,
      }
    },
  }),
  change({
    path: '/operator/receipts/rotate',
    role: 'admin',
    careful: true,
    summary: 'sign receipts with a new key; what older keys have signed stays verifiable',
    body: NOTHING,
    reply: Type.Object({ key_id: Text, made_at: Moment }),
    async handle({ tx, clock, random, ...needs }) {
      const seal = await needs.seal()
      const { before, after } = await rotateSigningKey(tx, { clock, random, seal })
      const { id: key_id, made_at } = after
      const action = { subject: 'receipts', before: { key_id: before }, after: { key_id } }
      return { result: { value: { key_id, made_at } }, actions: [action] }
    },
  }),
]
