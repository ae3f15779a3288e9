// Receipts on the wire, and the public keys that verify them, which any page may read.

import type { KeyObject } from 'node:crypto'
import { CompactSign } from 'jose'
import { type Static, Type } from 'typebox'
import { type Clock, wireTime } from '../../lib/clock.ts'
import { printJson } from '../../lib/json.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { Page } from '../../platform/http/pages.ts'
import type { Seal } from '../../platform/seal/seal.ts'
import {
  Conflict,
  type Endpoint,
  endpoint,
  InvalidParams,
  refuses,
  unchecked,
} from '../../platform/wire/endpoint.ts'
import { isAbsent, readNames } from '../../platform/wire/reading.ts'
import { noOrder, OrderNotFound } from '../orders/forms.ts'
import { findOrder } from '../orders/orders.ts'
import { RECEIPT_TYPE, ReceiptForm, receiptOf } from './receipts.ts'
import { openSigningKey, publicKeys, signingKey } from './signing_keys.ts'

export type Needs = {
  sql: Sql
  clock: Clock
  seal: Seal
  /** Who issues: the name and version of the service. */
  service: string
  /** The name of the chain; undefined while no node has said. */
  network(): Promise<string | undefined>
}

/** Signs what a receipt says, or another document of that `typ`, with the key that signs now. */
export function receiptSigner(
  { sql, seal }: Pick<Needs, 'sql' | 'seal'>,
  typ = RECEIPT_TYPE,
): (payload: string) => Promise<string> {
  let opened: { id: string; key: KeyObject } | undefined
  return async (payload) => {
    const row = await signingKey(sql, seal)
    if (opened?.id !== row.id) opened = { id: row.id, key: openSigningKey(seal, row) }
    return new CompactSign(Buffer.from(payload))
      .setProtectedHeader({ alg: 'EdDSA', typ, kid: opened.id })
      .sign(opened.key)
  }
}

export function receiptRoutes(needs: Needs): Endpoint[] {
  const { sql, clock, service, network } = needs
  const sign = receiptSigner(needs)
  return [
    endpoint({
      path: '/v1/receipt',
      keeps_body: true,
      auth: 'signature',
      scope: 'read',
      summary: 'What an order got on the chain, signed',
      description:
        'A JWS (EdDSA) whose keys stand at `/.well-known/jwks.json`: any JOSE library verifies ' +
        'it. It is issued anew each time; a later one contains what an earlier one said. ' +
        '`receipt` is its payload, for reading.',
      body: Type.Object({
        id: Type.Optional(unchecked(Type.String())),
        external_id: Type.Optional(
          unchecked(Type.String({ description: 'Beside id, or instead of it; both must match' })),
        ),
      }),
      reply: Type.Object({ receipt: ReceiptForm, jws: Type.String() }),
      faults: [
        refuses(InvalidParams, 'Neither `id` nor `external_id` is given, or `id` is no text', 'id'),
        refuses(InvalidParams, '`external_id` is not text', 'external_id'),
        refuses(OrderNotFound, 'The customer has no such transaction'),
        refuses(Conflict, 'It is not delivered, or a fork took a part back', 'not_delivered'),
      ],
      examples: [{ summary: "By the caller's own id", body: { external_id: 'order-42' } }],
      async handle({ body, customer: { customer_id } }) {
        const { id, external_id } = readNames(
          isAbsent(body.id) ? undefined : body.id,
          body.external_id,
        )
        const order = await findOrder(sql, { id, external_id, customer_id })
        if (!order) throw noOrder({ id })
        const issuer = {
          service,
          network: (await network()) ?? null,
          issued_at: wireTime(clock.now()),
        }
        const receipt = order.state === 'success' ? await receiptOf(sql, order, issuer) : undefined
        if (!receipt) throw Conflict('not_delivered', 'This transaction is not delivered')
        return { receipt, jws: await sign(printJson(receipt)) }
      },
    }),
  ]
}

export const PublicKeyForm = Type.Object({
  kty: Type.String(),
  crv: Type.String(),
  x: Type.String(),
  kid: Type.String(),
  use: Type.String(),
  alg: Type.String(),
})

/** Every public key of ours that there was, as a JSON Web Key Set has them. */
export async function keySet(sql: Sql, seal: Seal): Promise<Static<typeof PublicKeyForm>[]> {
  return (await publicKeys(sql, seal)).map(({ id, public_key }) => ({
    kty: 'OKP',
    crv: 'Ed25519',
    x: public_key,
    kid: id,
    use: 'sig',
    alg: 'EdDSA',
  }))
}

/** The public keys, for any origin: those that sign no more too. */
export const keyPage = ({ sql, seal }: Pick<Needs, 'sql' | 'seal'>): Page => ({
  path: '/.well-known/jwks.json',
  summary: 'The public keys that verify receipts, as a JSON Web Key Set',
  document: Type.Object({ keys: Type.Array(PublicKeyForm) }),
  async handle() {
    const keys = await keySet(sql, seal)
    const headers = { 'access-control-allow-origin': '*', 'cache-control': 'max-age=300' }
    return { status: 200, code: 0, body: printJson({ keys }), headers }
  },
})
