// What is made from the endpoints is fresh. The reference is valid, complete and true: a public
// validator accepts it, it names every path the server knows, and every answer it shows was given
// to the body it shows.

import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { relative } from 'node:path'
import { test } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { OPENAPI_30_FILE, OPENAPI_FILE } from 'penstock-service/platform/http/pages.ts'
import { Errors } from 'typebox/schema'
import { templated } from '../../tools/openapi.ts'
import { printFreshReference } from '../../tools/print.ts'
import { ROOT } from '../../tools/source.ts'
import { tryExamples } from '../harness/examples.ts'
import { checkStrictly, FROZEN } from '../harness/strict.ts'
import { makeWorld } from '../harness/world.ts'

type Content = {
  content: { 'application/json': { schema: object; examples: Record<string, { value: unknown }> } }
}
type Operation = { operationId: string; responses: Record<string, Content>; requestBody: Content }
type Paths = Record<string, { post?: Operation; get?: Operation }>
type Document = {
  openapi: string
  paths: Paths
  webhooks: Paths
  components: { schemas: Record<string, object> }
}

const story = tryExamples()
const kept = async () => JSON.parse(await readFile(OPENAPI_FILE, 'utf8')) as Document

test('what is made from the endpoints is what they print now (if not: npm run print)', async () => {
  for (const [file, text] of await printFreshReference(await story)) {
    const [old, made] = [await readFile(file, 'utf8'), text].map((all) => all.split('\n'))
    const line = made!.findIndex((text, i) => text !== old![i])
    assert.equal(old![line], made![line], `${relative(ROOT, file)}:${line + 1} is not fresh`)
    assert.equal(old!.length, made!.length)
  }
})

test('a public validator accepts openapi.json as OpenAPI 3.1; references resolve', async () => {
  const validator = new Validator()
  const document = await kept()
  const { valid, errors } = await validator.validate(document)
  assert.ok(valid, JSON.stringify(errors))
  assert.equal(validator.version, '3.1')
  assert.doesNotMatch(JSON.stringify(validator.resolveRefs()), /"\$ref"/)
  const wrong = structuredClone(document)
  Object.assign(wrong.paths['/v1/balance']!.post!, { responses: { ok: {} } })
  assert.equal(
    (await new Validator().validate(wrong)).valid,
    false,
    'and it would say so if it were not',
  )
})

test('openapi-3.0.json says the same in words that generators of clients read', async () => {
  const validator = new Validator()
  const text = await readFile(OPENAPI_30_FILE, 'utf8')
  const { valid, errors } = await validator.validate(JSON.parse(text))
  assert.ok(valid, JSON.stringify(errors))
  assert.equal(validator.version, '3.0')
  assert.doesNotMatch(JSON.stringify(validator.resolveRefs()), /"\$ref"/)
  const { paths, components } = JSON.parse(text) as Document & {
    components: { schemas: Record<string, object> }
  }
  assert.deepEqual(Object.keys(paths), Object.keys((await kept()).paths))
  // Without a choice of forms, and no object without a name.
  assert.doesNotMatch(JSON.stringify(paths), /oneOf|anyOf|"properties"/)
  for (const [name, schema] of Object.entries(components.schemas)) {
    const [, ...nested] = JSON.stringify(schema).split('"properties":{')
    assert.ok(nested.length <= 1, name)
    if (name !== 'Event') assert.doesNotMatch(JSON.stringify(schema), /oneOf|anyOf/, name)
  }
})

test('each operation, of a path and of an event, has a name of its own', async () => {
  const { paths, webhooks } = await kept()
  const names = [paths, webhooks]
    .flatMap((all) => Object.values(all))
    .flatMap(({ post, get }) => [post, get])
    .flatMap((operation) => operation?.operationId ?? [])
  assert.ok(names.length > 90, `${names.length} operations`)
  assert.deepEqual(
    names.filter((name, i) => names.indexOf(name) !== i),
    [],
  )
})

/** How the paths of those end that only look; or they are one word, like `/v1/whoami`. */
const LOOKS = /^\/v1\/[\w-]+$|\/(list|check|history|timeline|uses|report|stream)$/

test('what changes something requires the second signature, unless it is older', async (t) => {
  const { endpoints } = (await makeWorld(t)).app
  const later = endpoints.filter(({ path, auth }) => auth === 'signature' && !FROZEN.includes(path))
  assert.ok(later.length > 30, `${later.length} are no older`)
  const wrong = later.filter(({ path, second_signature }) => second_signature === LOOKS.test(path))
  assert.deepEqual(
    wrong.map(({ path }) => path),
    [],
  )
})

test('what the server answers and what the reference names are the same paths', async (t) => {
  const world = await makeWorld(t)
  const { paths } = await kept()
  const { endpoints, pages } = world.app
  const documented = pages.filter(({ reply, document }) => reply ?? document)
  const readable = documented.map(({ path }) => templated(path))
  assert.deepEqual(Object.keys(paths), [...endpoints.map(({ path }) => path), ...readable])
  for (const [path, { post, get }] of Object.entries(paths)) {
    const status = async (method: 'GET' | 'POST') =>
      (await world.api.inject({ method, url: path })).statusCode
    assert.equal((await status('POST')) !== 405, post !== undefined, path)
    assert.equal((await status('GET')) !== 405, get !== undefined, path)
  }
})

test('what the first clients call is described in the same words as ever', async () => {
  const { paths } = await kept()
  assert.equal(FROZEN.length, 17)
  const calls = FROZEN.map((path) => [path, paths[path]])
  // What the examples were answered depends on what was called before.
  const described = JSON.stringify(calls, (name, value: unknown) =>
    name === 'examples' ? undefined : value,
  )
  assert.equal(
    hash('sha256', described),
    '232ee83703d65f017f29e6bf62b6dc064a48d430351fc37bebb584d44b3e419b',
  )
})

test('what several endpoints answer is one schema with a name', async () => {
  const { paths, webhooks, components } = await kept()
  const wanted = ['Transaction', 'AmlCheck', 'Subscription', 'Webhook', 'Event', 'Key', 'Deposit']
  for (const name of wanted) assert.ok(name in components.schemas, name)
  const places = new Map<string, number>()
  const count = (schema: unknown): void => {
    if (schema === null || typeof schema !== 'object') return
    const { description: _, title, ...rest } = schema as Record<string, unknown>
    const fields = Object.keys((rest.properties as object | undefined) ?? {})
    const text = JSON.stringify(rest)
    if (fields.length >= 4 && title === undefined) places.set(text, (places.get(text) ?? 0) + 1)
    for (const one of Object.values(schema)) count(one)
  }
  for (const one of [paths, webhooks, components.schemas]) count(one)
  const unnamed = [...places].filter(([, times]) => times > 1).map(([text]) => text.slice(0, 120))
  assert.deepEqual(unnamed, [], 'give it a name in tools/openapi_names.ts')
})

test('in the words of 3.0 what may be null has a type, and states are listed', async () => {
  const text = await readFile(OPENAPI_30_FILE, 'utf8')
  const wrong: string[] = []
  JSON.parse(text, (_, value: Record<string, unknown> | null) => {
    if (value?.nullable === true && value.type === undefined) wrong.push(JSON.stringify(value))
    return value
  })
  assert.deepEqual(wrong, [])
  const { components } = JSON.parse(text) as Document
  for (const [name, field] of [
    ['Transaction', 'status'],
    ['Subscription', 'status'],
    ['AmlCheck', 'status'],
    ['Deposit', 'state'],
    ['Webhook', 'state'],
  ] as const) {
    const { properties } = components.schemas[name] as { properties: Record<string, unknown> }
    const words = (properties[field] as { enum?: string[] }).enum ?? []
    assert.ok(words.length >= 3, `${name}.${field}`)
  }
})

test('every example fits the schema that stands beside it', async () => {
  const validator = new Validator()
  await validator.validate(await kept())
  const resolved = validator.resolveRefs() as unknown as Document
  let looked_at = 0
  for (const { post } of Object.values(resolved.paths)) {
    if (!post) continue
    for (const { schema, examples } of [
      post.requestBody.content['application/json'],
      post.responses['200']!.content['application/json'],
    ]) {
      for (const [name, { value }] of Object.entries(examples)) {
        // It shows what is answered to a network that is not in the schema.
        if (post.operationId === 'aml_checks_new' && name === 'example_2') continue
        const [fits, errors] = Errors(schema, value)
        assert.ok(fits, `${post.operationId} ${name} ${JSON.stringify(errors)}`)
        looked_at += 1
      }
    }
  }
  assert.ok(looked_at > 40)
})

test('every example but the refusals is accepted, and a strict client decodes it', async () => {
  const { endpoints, tried } = await story
  for (const { path, answer } of tried)
    if (FROZEN.includes(path)) checkStrictly(path, JSON.stringify(answer))
  for (const { path, open } of endpoints)
    assert.ok(
      // Nobody waits for the end of an answer that stays open.
      open !== undefined || tried.some((call) => call.path === path),
      path,
    )
  const refused = tried.filter(({ answer }) => (answer as { code: number }).code !== 0)
  assert.deepEqual(
    refused.map(({ path, answer }) => [path, (answer as { code: number }).code]),
    [
      ['/v1/subscription/uses', 20],
      ['/v1/deposit/check', 70],
      ['/v1/invoice/check', 70],
      ['/v1/aml-checks/new', 2],
      ['/v1/aml-checks/check', 30],
      ['/v1/aml-check/report', 30],
      ['/v1/pairing/refuse', 70],
      ['/v1/session/end', 70],
    ],
  )
})
