import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseJson } from '../../lib/json.ts'
import { objectOf } from './reading.ts'

test('an empty list is an empty object, as PHP writes it, and no other list is one', () => {
  const read = (text: string) => objectOf(parseJson(Buffer.from(text)))
  assert.deepEqual([read('{"a":1}'), read('{}'), read('[]')], [{ a: 1 }, {}, {}])
  for (const text of ['[1]', '[{}]', 'null', '"a"', '1', '1.5', '1e30', 'true'])
    assert.equal(read(text), undefined, text)
})
