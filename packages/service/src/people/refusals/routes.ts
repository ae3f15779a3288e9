// What a customer's calls were refused for, on the wire.

import { type Static, Type } from 'typebox'
import { wireTime } from '../../lib/clock.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { type Endpoint, endpoint, InvalidParams, refuses } from '../../platform/wire/endpoint.ts'
import {
  LIST_REFUSALS,
  listFields,
  listOf,
  noPlace,
  page,
  rowsFor,
} from '../../platform/wire/lists.ts'
import { timeField, timeOf } from '../../platform/wire/reading.ts'
import { KEPT_A_DAY, leftOut, listRefusals, type Refusal } from './refusals.ts'

export type Needs = { sql: Sql }

const OrNull = <S extends Parameters<typeof Type.Union>[0][number]>(
  schema: S,
  more: { description?: string } = {},
) => Type.Union([schema, Type.Null()], more)

const RefusalForm = Type.Object({
  at: Type.String(),
  path: Type.String(),
  code: Type.Integer(),
  key: Type.String({ description: 'Of the refusal: what was answered' }),
  request_id: Type.String(),
  key_id: Type.String(),
  ip: Type.String(),
  ms: Type.Integer(),
  body: OrNull(Type.String(), {
    description:
      'For the codes 2, 10, 11, 12 and 50, of endpoints that take nothing secret: the first ' +
      '1,024 characters, with the values that the endpoint asks for',
  }),
  hint: Type.Union(
    [
      Type.Literal('second_signature'),
      Type.Object({
        hashed_bytes: Type.Integer({ description: 'How many bytes the body had' }),
        body_sha256: Type.String(),
        right_for: OrNull(Type.String(), {
          description:
            'The signature is right for another body: `empty`, `{}`, `no_final_newline` (without ' +
            'the line feed at its end) or `reprinted` (the same JSON without blanks)',
        }),
      }),
      Type.Null(),
    ],
    {
      description:
        '`second_signature`: the first signature was right, and the key or the endpoint requires ' +
        '`X-Signature-V2` as well. An object: the signature was wrong',
    },
  ),
})

const printRefusal = (one: Refusal): Static<typeof RefusalForm> => ({
  at: wireTime(one.at),
  path: one.path,
  code: one.code,
  key: one.key,
  request_id: one.request_id,
  key_id: one.key_id,
  ip: one.ip,
  ms: one.ms,
  body: one.body,
  hint: hintOf(one),
})

/** What could be the matter with a signature: one that was wrong, or one that was missing. */
function hintOf({ key, hashed_bytes, body_sha256, right_for }: Refusal) {
  if (key === 'auth.second_signature') return 'second_signature'
  return hashed_bytes === null ? null : { hashed_bytes, body_sha256: body_sha256!, right_for }
}

const placeText = ({ at, id }: Pick<Refusal, 'at' | 'id'>): string => `${at.getTime()}.${id}`

/** Throws 2 when it is no place that a page ended with. */
function readPlace(before: string | undefined): { at: Date; id: bigint } | undefined {
  if (before === undefined) return undefined
  const [, ms, id] = /^(\d{1,14})\.(\d{1,18})$/.exec(before) ?? []
  if (id === undefined) throw noPlace()
  return { at: new Date(Number(ms)), id: BigInt(id) }
}

const list = ({ sql }: Needs): Endpoint =>
  endpoint({
    path: '/v1/refusals/list',
    auth: 'signature',
    scope: 'read',
    summary: 'What your calls were refused for in the last seven days, newest first',
    description:
      'Whatever had a code other than 0 and a token of yours. It is written a moment after the ' +
      `answer; of more than ${KEPT_A_DAY} a day, or of very many at once, some are left out.`,
    body: Type.Object({
      since: timeField('since', 'Refused from then on'),
      code: Type.Optional(
        Type.Integer({ minimum: 1, fault: () => InvalidParams('code', 'Invalid code') }),
      ),
      ...listFields(),
    }),
    reply: Type.Object({
      ...listOf(RefusalForm).properties,
      left_out: Type.Integer({ description: 'How many of these days are not listed' }),
    }),
    faults: [
      refuses(InvalidParams, '`since` is no time', 'since'),
      refuses(InvalidParams, '`code` is no whole number from 1', 'code'),
      ...LIST_REFUSALS,
    ],
    examples: [{ summary: 'Wrong signatures', body: { code: 1 } }],
    async handle({ body: { since, code, before, limit }, customer: { customer_id } }) {
      const place = readPlace(before)
      const wanted = { customer_id, since: timeOf(since), code, before: place }
      const rows = await listRefusals(sql, { ...wanted, limit: rowsFor(limit) })
      const shown = page(rows, limit, { print: printRefusal, placeOf: placeText })
      return { ...shown, left_out: await leftOut(sql, customer_id) }
    },
  })

export const routes = (needs: Needs): Endpoint[] => [list(needs)]
