import assert from 'node:assert/strict'
import { test } from 'node:test'
import { receiversField } from './receivers.ts'

test('a form that is not touched binds and frees nobody', () => {
  for (const before of [null, [], ['T1'], ['T1', 'T2']])
    assert.deepEqual(receiversField(before ?? [], before), {}, JSON.stringify(before))
  assert.deepEqual(receiversField([], ['T1']), { receivers: ['any'] })
  assert.deepEqual(receiversField(['T1'], null), { receivers: ['T1'] })
  assert.deepEqual(receiversField(['T2', 'T1'], ['T1', 'T2']), { receivers: ['T2', 'T1'] })
  assert.deepEqual(receiversField(['T1'], []), { receivers: ['T1'] })
})
