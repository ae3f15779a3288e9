// Waking a step that does not exist is silent by design: it may live in another process. So a
// misspelt name costs seconds and nobody notices; it is noticed here.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isNode, readSources, walk } from '../../tools/source.ts'
import { makeWorld } from '../harness/world.ts'

test('whatever is woken is a step, and no two steps have one name', async (t) => {
  const world = await makeWorld(t)
  const names = world.app.steps.map((step) => step.name)
  assert.equal(new Set(names).size, names.length)
  const woken = world.app.steps.flatMap((step) =>
    (step.wakes ?? []).map((name) => `${step.name} -> ${name}`),
  )
  assert.ok(woken.length > 10)
  assert.deepEqual(
    woken.filter((arrow) => !names.includes(arrow.split(' -> ')[1]!)),
    [],
  )
})

test('whoever takes a request wakes steps that exist', async (t) => {
  const world = await makeWorld(t)
  const names = new Set(world.app.steps.map((step) => step.name))
  const woken: string[] = []
  for (const { path, tree } of await readSources('packages/service')) {
    if (path.endsWith('.test.ts')) continue
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
