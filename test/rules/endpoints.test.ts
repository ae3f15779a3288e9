// Three lists say the same: the endpoints and pages of the reference, what the methods of the SDK
// call, and what the commands of the customers' command line call.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { OPENAPI_FILE } from 'penstock-service/platform/http/pages.ts'
import { COMMANDS } from '../../packages/cli/src/commands/table.ts'
import { Penstock } from '../../packages/sdk/src/penstock.ts'

type Method = (...given: unknown[]) => unknown

/** The methods of the client, by name: `whoami`, `orders.create`. */
function methodsOf(penstock: Penstock): Map<string, Method> {
  const found = new Map<string, Method>([
    ['status', (_, options) => penstock.status(options as object)],

    ['whoami', (options) => penstock.whoami(options as object)],
  ])
  for (const [resource, methods] of Object.entries(penstock))
    for (const [name, method] of Object.entries(methods as Record<string, unknown>))
      if (typeof method === 'function') found.set(`${resource}.${name}`, method as Method)
  return found
}

/** The paths that are called first by each method: nothing is there, so there is no second call. */
async function pathsOfMethods(templates: readonly string[]): Promise<Map<string, string[]>> {
  let called = ''
  const fetch = async (url: string | URL | Request) => {
    called = new URL(url as string).pathname
    return new Response('{}', { status: 404 })
  }
  const access = { url: 'https://api.example', token: 'pst_1', secret: 'pss_1' }
  const penstock = new Penstock({ ...access, fetch, retries: 0 })
  const names = new Map<string, string[]>()
  for (const [name, method] of methodsOf(penstock)) {
    called = ''
    const answer = method('1', {})
    const iterator = (answer as { next?: () => Promise<unknown> }).next?.bind(answer)
    await assert.rejects(async () => (iterator ? iterator() : answer), name)
    const path = templates.find((one) =>
      new RegExp(`^${one.replace(/\{\w+\}/, '[^/]+').replaceAll('.', '\\.')}$`).test(called),
    )
    assert.ok(path, `${name} calls ${JSON.stringify(called)}, which is not there`)
    names.set(path, [...(names.get(path) ?? []), name])
  }
  return names
}

test('each endpoint of the reference has a method and a command; no other is called', async () => {
  const { paths } = JSON.parse(await readFile(OPENAPI_FILE, 'utf8')) as { paths: object }
  const templates = Object.keys(paths)
  const methods = await pathsOfMethods(templates)
  const commands = new Map<string, string[]>()
  for (const { words, path, also = [] } of COMMANDS)
    for (const one of path ? [path, ...also] : also)
      commands.set(one, [...(commands.get(one) ?? []), words])
  const table = templates.map((path) => [path, methods.get(path)?.[0], commands.get(path)?.[0]])
  assert.ok(table.length > 60)
  assert.deepEqual(
    table.filter(([, method, command]) => !method || !command),
    [],
    'they lack a method or a command',
  )
  assert.deepEqual(
    [...commands.keys()].filter((path) => !templates.includes(path)),
    [],
  )
})
