import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault, fault, Outage } from './fault.ts'

test('a kind of refusal makes refusals of its code, with sub-key and sentence if given', () => {
  const NotFound = fault(20, 'not_found', 'Not found')
  assert.deepEqual([NotFound.code, NotFound.key, NotFound.sentence], [20, 'not_found', 'Not found'])
  const seen = [
    NotFound(),
    NotFound('transaction'),
    NotFound(undefined, 'Gone'),
    NotFound('a', 'Gone'),
  ].map(({ code, key, message }) => [code, key, message])
  assert.deepEqual(seen, [
    [20, 'not_found', 'Not found'],
    [20, 'not_found.transaction', 'Not found'],
    [20, 'not_found', 'Gone'],
    [20, 'not_found.a', 'Gone'],
  ])
  assert.ok(NotFound() instanceof Fault)
})

test('an outage is told apart from a refusal, and keeps its cause', () => {
  const cause = new Error('ECONNREFUSED')
  const outage: Error = new Outage('the node', { cause })
  assert.equal(outage.cause, cause)
  assert.ok(!(outage instanceof Fault))
})
