import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonLog, thrownFields } from './log.ts'

function logged() {
  const lines: string[] = []
  const log = jsonLog(
    (line) => lines.push(line),
    () => new Date('2026-10-08T15:26:32.123Z'),
  )
  return { lines, log }
}

test('a line is one JSON object with its time, whatever is in the fields', () => {
  const { lines, log } = logged()
  log('request', {
    code: 0,
    sun: 2n ** 60n,
    text: 'two\nlines "quoted"',
    none: null,
    left_out: undefined,
  })
  log('quiet')
  assert.ok(lines.every((line) => line.indexOf('\n') === line.length - 1))
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)),
    [
      {
        at: '2026-10-08T15:26:32.123Z',
        event: 'request',
        code: 0,
        sun: '1152921504606846976',
        text: 'two\nlines "quoted"',
        none: null,
      },
      { at: '2026-10-08T15:26:32.123Z', event: 'quiet' },
    ],
  )
})

test('of what was thrown, kind, message and cause are told, and never its properties', () => {
  const thrown = Object.assign(new TypeError('no', { cause: new Error('why') }), {
    secret: 'pss_1',
  })
  const fields = thrownFields(thrown)
  assert.equal(fields.error, 'TypeError: no (why)')
  assert.deepEqual(Object.keys(fields).toSorted(), ['error', 'stack'])
  assert.ok(!JSON.stringify(fields).includes('pss_1'))
  assert.deepEqual(thrownFields('a text'), { error: 'a text' })
  assert.deepEqual(thrownFields(undefined), { error: 'undefined' })
})
