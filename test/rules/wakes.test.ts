// Waking a step that does not exist is silent by design: it may live in another process. So a
// misspelt name costs seconds and nobody notices; it is noticed here.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Step } from 'penstock-service/platform/steps/step.ts'
import { isNode, parseSource, readSources, type Source, walk } from '../../tools/source.ts'
import { makeWorld } from '../harness/world.ts'
import { floorOf } from './floors.ts'

const service = (await readSources('packages/service')).filter(
  ({ path }) => !path.endsWith('.test.ts'),
)

/** The names that a step says it comes before and after, `follow -> confirm`. */
const namedBy = ({ name, after = [], before = [] }: Step) =>
  [...after, ...before].map((other) => `${name} -> ${other}`)

const ends = (named: string) => named.split(' -> ') as [from: string, to: string]

test('whatever a step comes before or after is a step, and no two have one name', async (t) => {
  const world = await makeWorld(t)
  const names = world.app.steps.map((step) => step.name)
  assert.equal(new Set(names).size, names.length)
  const named = world.app.steps.flatMap(namedBy)
  assert.ok(named.length > 10)
  // Some are made only where what they need is configured.
  const homes = homesOf(service)
  assert.deepEqual(
    named.filter((one) => !homes.has(ends(one)[1])),
    [],
  )
})

/** Where each step is made: the objects with a name and a `rest_ms`. */
function homesOf(sources: readonly Source[]): Map<string, string> {
  const homes = new Map<string, string>()
  for (const { path, tree } of sources) {
    for (const node of walk(tree)) {
      if (node.type !== 'ObjectExpression') continue
      const values = new Map<string, unknown>()
      for (const { key, value } of node.properties as { key?: unknown; value?: unknown }[])
        if (isNode(key) && isNode(value)) values.set(String(key.name), value.value)
      const name = values.get('name')
      if (values.has('rest_ms') && typeof name === 'string') homes.set(name, path)
    }
  }
  return homes
}

/** The names that lead from a step to one of a floor above its own. */
const namedAbove = (named: readonly string[], homes: ReadonlyMap<string, string>): string[] =>
  named.filter((one) => {
    const [from, to] = ends(one).map((name) => floorOf(homes.get(name)!).floor)
    return to! > from!
  })

test('a step names only steps of its own floor or of floors below', async (t) => {
  const world = await makeWorld(t)
  const homes = homesOf(service)
  for (const { name } of world.app.steps) assert.ok(homes.has(name), name)
  assert.deepEqual(namedAbove(world.app.steps.flatMap(namedBy), homes), [])
})

/** What is looked at often and says no more of whether it is due, because rows do not tell. */
const RUNS_AT_EACH_LOOK = [
  // The node tells whether there is another block.
  'follow',
  // Compares what is delegated with what it was at its last look.
  'survey',
]
const OFTEN_MS = 3_000

test('a step that is looked at often says when it is due', async (t) => {
  const world = await makeWorld(t)
  const silent = world.app.steps.filter(({ rest_ms, due }) => rest_ms <= OFTEN_MS && !due)
  assert.deepEqual(
    silent.map(({ name }) => name),
    RUNS_AT_EACH_LOOK,
  )
})

test('a step that names one of a floor above is found', () => {
  const step = (path: string, name: string) =>
    parseSource(path, `export const step = () => ({ name: '${name}', rest_ms: 1_000 })`)
  const homes = homesOf([
    step('packages/service/src/chain/follow/a.ts', 'low'),
    step('packages/service/src/market/orders/b.ts', 'high'),
  ])
  const named = ['low -> low', 'low -> high', 'high -> low']
  assert.deepEqual(namedAbove(named, homes), ['low -> high'])
})

test('calls wake steps that exist', async (t) => {
  const world = await makeWorld(t)
  const names = new Set(world.app.steps.map((step) => step.name))
  const woken: string[] = []
  for (const { tree } of service) {
    for (const node of walk(tree)) {
      const { callee, arguments: given } = node as { callee?: unknown; arguments?: unknown[] }
      if (
        node.type !== 'CallExpression' ||
        !isNode(callee) ||
        nameOf(callee) !== 'wake' ||
        !isNode(given?.[0])
      )
        continue
      for (const part of walk(given[0])) if (typeof part.value === 'string') woken.push(part.value)
    }
  }
  assert.ok(woken.length >= 3, woken.join(' '))
  assert.deepEqual(
    woken.filter((name) => !names.has(name)),
    [],
  )
})

/** `wake` of wake(…) and of needs.wake(…). */
function nameOf(callee: object): string | undefined {
  const { name, property } = callee as { name?: string; property?: { name?: string } }
  return name ?? property?.name
}
