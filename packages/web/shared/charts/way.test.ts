import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WAY_NODE, wayOf } from './way.ts'

test('boxes stand side by side, and an arrow leads from each to the next', () => {
  const { nodes, arrows, width, height } = wayOf(3)
  assert.equal(arrows.length, 2)
  for (const [i, { x1, x2, y, middle }] of arrows.entries()) {
    assert.equal(x1, nodes[i]!.x + WAY_NODE.width)
    assert.ok(x1 < middle && middle < x2 && x2 < nodes[i + 1]!.x)
    assert.equal(y, nodes[i]!.y + WAY_NODE.height / 2)
  }
  const last = nodes.at(-1)!
  assert.ok(last.x + WAY_NODE.width < width && last.y + WAY_NODE.height < height)
})

test('one address has no arrow, none has no drawing', () => {
  assert.deepEqual(wayOf(1).arrows, [])
  assert.deepEqual(wayOf(0), { width: 0, height: 48, nodes: [], arrows: [] })
})
