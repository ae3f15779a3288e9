// Steps: each is told of in the table of its wing, from which their names have a type, and names
// only steps of its own floor or below.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { STEPS } from 'penstock-service/operators/health/steps.ts'
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

test('the steps of a wing are those that it tells of, and no two have one name', async (t) => {
  const world = await makeWorld(t)
  const names = world.app.steps.map((step) => step.name)
  assert.equal(new Set(names).size, names.length)
  const made = [...homesOf(service)].map(([name, path]) => `${floorOf(path).wing} ${name}`)
  const described = STEPS.map(({ wing, name }) => `${wing} ${name}`)
  assert.deepEqual(described.sort(), made.sort())
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
