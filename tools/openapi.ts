// The reference as an OpenAPI 3.1 document, made from the endpoints, the pages, and answers that
// were really given. Every refusal of an endpoint is HTTP 200, so it is a second form of the same
// response, and the order in which an endpoint checks, which OpenAPI has no word for, is in
// `x-refusals` and in its description.

import type { EventKind } from 'penstock-service/events/log/kinds.ts'
import { EventForm } from 'penstock-service/events/log/routes.ts'
import { printJson } from 'penstock-service/lib/json.ts'
import type { Page } from 'penstock-service/platform/http/pages.ts'
import type { Endpoint, Refusal } from 'penstock-service/platform/wire/endpoint.ts'
import type { TSchema } from 'typebox'
import { withNames } from './openapi_names.ts'

/** A call that was really made, and its whole answer. */
export type ExampleAnswer = { path: string; summary: string; body: unknown; answer: unknown }

export type Reference = {
  endpoints: readonly Endpoint[]
  pages: readonly Page[]
  kinds: readonly EventKind[]
  tried: readonly ExampleAnswer[]
  version: string
}

type Part = Record<string, unknown>

const INTRODUCTION = `Every call is a POST with a JSON body, and every answer of an endpoint is \
HTTP 200 with a JSON object: \`code\` 0 and \`result\`, or another \`code\` with \`key\` and \
\`error\`. Branch on \`code\`; \`key\` says more, \`error\` is for people. \`request_id\` is \
also in the header X-Request-Id.

Signed calls carry \`Authorization: Bearer <token>\` and \`X-Signature\`: the lower-case \
hexadecimal SHA-256 of the body, byte for byte as it is sent, followed by the secret.

An endpoint without parameters takes \`{}\`, \`[]\` or no body. Fields that are not documented \
are ignored; \`null\` and \`""\` leave an optional field out. Integers are JSON integers: \
\`1.0\`, \`1e3\` and \`"1"\` are not. Amounts of money are TRX with at most six decimals.`

/** The path in the reference: `/deposits/{tx_id}` for `/deposits/:tx_id`. */
export const templated = (path: string) => path.replace(/:(\w+)/g, '{$1}')

/** The document as text. */
export function printOpenapi(reference: Reference): string {
  return `${JSON.stringify(withNames(openapi(reference)), null, 2)}\n`
}

function openapi({ endpoints, pages, kinds, tried, version }: Reference): Part {
  const operations = endpoints.map((endpoint) => {
    const calls = tried.filter(({ path }) => path === endpoint.path)
    return [endpoint.path, { post: operation(endpoint, calls) }]
  })
  const readable = pages.flatMap((page) => {
    const schema = page.document ? documented(page.document) : page.reply && success(page.reply)
    return schema ? [[templated(page.path), { get: readOperation(page, schema) }]] : []
  })
  return {
    openapi: '3.1.0',
    info: {
      title: 'Penstock',
      version,
      description: INTRODUCTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The service that serves this document' }],
    tags: TAGS.filter(([name]) => endpoints.some(({ path }) => tagOf(path) === name)).map(
      ([name, , description]) => ({
        name,
        description,
      }),
    ),
    paths: Object.fromEntries([...operations, ...readable]),
    webhooks: Object.fromEntries(
      ofCustomers(kinds).map((kind) => [kind.type, { post: told(kind) }]),
    ),
    components: COMPONENTS,
    // Which calls can change something.
    'x-changes': endpoints.filter(({ mutating }) => mutating).map(({ path }) => path),
  }
}

/** The kinds that a customer can be told. */
export const ofCustomers = (kinds: readonly EventKind[]) =>
  kinds.filter(({ scope }) => scope !== 'house')

/** How an event of a kind is told to webhooks. */
function told({ type, data, when, scope, sample }: EventKind): Part {
  const { properties } = EventForm
  const body = { ...EventForm, properties: { ...properties, type: { const: type }, data } }
  const head = {
    type,
    timestamp: '2026-11-21T00:05:57.000Z',
    id: '01m7xps3k2vd1g2n2cqk4kq0yv',
    number: 412,
    subject: `${type.split('.', 1)[0]}:01m7xps0ca8ksnnfg71x89vdp6`,
    test: false,
  }
  return {
    operationId: `event_${nameOf(type)}`,
    tags: ['Webhooks'],
    summary: `Told when ${when}`,
    description: `Scope of the key that made the webhook: \`${scope}\`.`,
    requestBody: {
      content: {
        'application/json': {
          schema: documented(body),
          examples: { example_1: { summary: type, value: { ...head, data: sample } } },
        },
      },
    },
    responses: {
      200: { description: 'Heard. So is any other 2xx; everything else is told again' },
    },
  }
}

const TAGS: readonly [name: string, paths: RegExp, description: string][] = [
  ['Events', /^\/v1\/event/, 'What happened, told once'],
  ['Webhooks', /webhook|notice/, 'Where you want to be told of events'],
  [
    'Transactions',
    /^\/v1\/(transaction|receipt)|jwks/,
    'Purchases of energy, bandwidth and activations, and the proof of what they got',
  ],
  ['Subscriptions', /^\/v1\/subscription/, 'Addresses that are kept supplied with energy'],
  ['AML checks', /^\/v1\/aml/, 'Screening of addresses and transactions'],
  [
    'Money',
    /balance|recharge|deposit|statement|summary|invoice/,
    'Your account, and what arrives on the chain',
  ],
  [
    'Access',
    /^\/v1\/(key|user|session|action|pairing)/,
    'Who may call and sign in for you, and who has changed what',
  ],
  ['Settings', /whoami|settings|refusals/, 'Who calls, what you have set, what was refused'],
  ['Prices', /./, 'What things cost, and what the chain says of an address'],
]

const tagOf = (path: string) => TAGS.find(([, paths]) => paths.test(path))![0]
const nameOf = (path: string) =>
  path
    .replace(/^\/(v1\/)?/, '')
    .replace(/\W+/g, '_')
    .replace(/_$/, '')
const ref = (kind: string, name: string) => ({ $ref: `#/components/${kind}/${name}` })

function operation(endpoint: Endpoint, calls: readonly ExampleAnswer[]): Part {
  const { path, auth, scopes, mutating, summary, description, body, faults } = endpoint
  const has_parameters = Object.keys(body.properties).length > 0
  const scoped = scopes.length > 0 && `Scope of the key: \`${scopes.join('` or `')}\`.`
  return {
    operationId: nameOf(path),
    tags: [tagOf(path)],
    summary,
    description: [description, scoped, refusalTable(faults)].filter((part) => part).join('\n\n'),
    security: auth === 'signature' ? [{ token: [], signature: [] }] : [],
    parameters: [
      ...(auth === 'signature' ? ['Timestamp', 'Nonce', 'SignatureV2'] : []),
      ...(mutating && faults.some(isReused) ? ['IdempotencyKey'] : []),
    ].map((name) => ref('parameters', name)),
    requestBody: {
      required: has_parameters,
      content: {
        'application/json': {
          schema: documented(body),
          examples: named(calls, ({ body }) => body),
        },
      },
    },
    responses: { 200: answers(endpoint, calls), ...TRANSPORT },
    'x-refusals': faults,
  }
}

/** A creating call knows ids that were used before. */
const isReused = ({ when }: Refusal) => when.includes('Idempotency-Key')

const TRANSPORT = {
  404: ref('responses', 'NotFound'),
  405: ref('responses', 'MethodNotAllowed'),
  413: ref('responses', 'TooLarge'),
  415: ref('responses', 'Encoded'),
  429: ref('responses', 'TooMany'),
}

function answers({ reply, faults, open }: Endpoint, calls: readonly ExampleAnswer[]): Part {
  const codes = [...new Set(faults.map(({ code }) => code))]
  const keys = [...new Set(faults.map(({ key }) => key))]
  const refusal = {
    title: 'Refusal',
    type: 'object',
    required: ['code', 'key', 'request_id', 'error'],
    properties: {
      code: { type: 'integer', enum: codes },
      key: { type: 'string', enum: keys },
      request_id: ref('schemas', 'RequestId'),
      error: { type: 'string', description: 'For people' },
      param: {
        type: 'string',
        description: 'The field that it is about, as in `params.amounts.energy`; left out: none',
      },
      doc_url: { type: 'string', description: 'What the code means' },
    },
  }
  return {
    description: 'The result, or a refusal',
    headers: { ...RATE_HEADERS, 'X-Request-Id': ref('headers', 'RequestId') },
    content: {
      ...(open && { 'text/event-stream': { schema: documented(reply) } }),
      'application/json': {
        schema: { oneOf: open ? [refusal] : [success(reply), refusal] },
        examples: named(calls, ({ answer }) => answer),
      },
    },
  }
}

function success(reply: TSchema): Part {
  return {
    title: 'Success',
    type: 'object',
    required: ['code', 'request_id', 'result'],
    properties: {
      code: { type: 'integer', const: 0 },
      request_id: ref('schemas', 'RequestId'),
      result: documented(reply),
    },
  }
}

function readOperation({ path, summary }: Page, schema: Part): Part {
  return {
    operationId: nameOf(path),
    tags: [tagOf(path)],
    summary,
    security: [],
    parameters: [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
      name,
      in: 'path',
      required: true,
      schema: { type: 'string' },
    })),
    responses: {
      200: {
        description: 'What was found',
        headers: { ...RATE_HEADERS, 'X-Request-Id': ref('headers', 'RequestId') },
        content: { 'application/json': { schema } },
      },
      ...(path.includes(':') && {
        400: ref('responses', 'BadRequest'),
        404: ref('responses', 'NotFound'),
      }),
      405: ref('responses', 'MethodNotAllowed'),
      429: ref('responses', 'TooMany'),
    },
  }
}

/** The matrix of an endpoint as a table in Markdown. */
export function refusalTable(faults: readonly Refusal[]): string {
  const lines = faults.map(({ code, key, when }) => `| ${code} | \`${key}\` | ${when} |`)
  return [
    'Checked in this order; the first that fails answers:',
    '',
    '| code | key | when |',
    '|--:|---|---|',
  ]
    .concat(lines)
    .join('\n')
}

function named(calls: readonly ExampleAnswer[], value: (call: ExampleAnswer) => unknown): Part {
  return Object.fromEntries(
    calls.map((call, i) => [`example_${i + 1}`, { summary: call.summary, value: value(call) }]),
  )
}

/** The schema without what only the reader of requests understands. */
function documented(schema: TSchema): Part {
  const text = printJson(schema)
  return JSON.parse(text, (name, value) =>
    name === 'checked_by_handler' ? undefined : value,
  ) as Part
}

const RATE_HEADERS = {
  'RateLimit-Limit': ref('headers', 'RateLimit'),
  'RateLimit-Remaining': ref('headers', 'RateRemaining'),
  'RateLimit-Reset': ref('headers', 'RateReset'),
}

const header = (type: string, description: string) => ({ description, schema: { type } })

const optionalHeader = (name: string, description: string) => ({
  name,
  in: 'header',
  required: false,
  description,
  schema: { type: 'string' },
})

function transport(description: string, error: string, headers: Part = {}): Part {
  const schema = ref('schemas', 'TransportRefusal')
  const code = Number(description.slice(0, 3))
  const example = { code, error, request_id: '5b0f2f5e-6b1b-4d5e-9c0a-0c8a2f7d9b11' }
  return {
    description: description.slice(5),
    headers,
    content: { 'application/json': { schema, example } },
  }
}

const COMPONENTS = {
  securitySchemes: {
    token: { type: 'http', scheme: 'bearer', description: 'The token of an API key' },
    signature: {
      type: 'apiKey',
      in: 'header',
      name: 'X-Signature',
      description:
        'Hexadecimal SHA-256 of the body, byte for byte as it is sent, ' +
        'followed by the secret of the key',
    },
  },
  parameters: {
    Timestamp: optionalHeader(
      'X-Timestamp',
      'Unix time in seconds, for X-Signature-V2; at most 300 s off',
    ),
    Nonce: optionalHeader(
      'X-Nonce',
      'Never used before with this key, for X-Signature-V2: 1 to 128 of A-Z a-z 0-9 _ . ~ -',
    ),
    SignatureV2: optionalHeader(
      'X-Signature-V2',
      'Hexadecimal HMAC-SHA-256 over five lines joined by line feeds: timestamp, nonce, ' +
        'POST, path, hexadecimal SHA-256 of the body. Its key is HKDF-SHA-256 of the secret, ' +
        'without salt, info `v2`, 32 bytes. A key can be set to require it.',
    ),
    IdempotencyKey: optionalHeader(
      'Idempotency-Key',
      'Stands for `external_id` when the body has none',
    ),
  },
  headers: {
    RequestId: header('string', 'The same as `request_id` in the body'),
    RateLimit: header('integer', 'How many requests may come at once after a pause'),
    RateRemaining: header('integer', 'How many of them are left'),
    RateReset: header('integer', 'Seconds until all are there again'),
    RetryAfter: header('integer', 'Seconds until the next request is answered'),
  },
  responses: {
    BadRequest: transport('400: The path is not of the documented form', 'Not a transaction id'),
    NotFound: transport('404: There is nothing at this path', 'Method not found'),
    MethodNotAllowed: transport('405: The path takes another method', 'Method Not Allowed', {
      Allow: header('string', 'The methods of the path'),
    }),
    TooLarge: transport('413: The body is larger than 64 KiB', 'Payload Too Large'),
    Encoded: transport('415: The body has a Content-Encoding', 'Unsupported Media Type'),
    TooMany: transport('429: Too many requests', 'Too Many Requests', {
      ...RATE_HEADERS,
      'Retry-After': ref('headers', 'RetryAfter'),
    }),
  },
  schemas: {
    RequestId: { type: 'string', format: 'uuid' },
    TransportRefusal: {
      type: 'object',
      description: 'What is refused before an endpoint is reached',
      required: ['code', 'error', 'request_id'],
      properties: {
        code: { type: 'integer', description: 'The HTTP status' },
        error: { type: 'string', description: 'For people' },
        request_id: ref('schemas', 'RequestId'),
      },
    },
  },
}
