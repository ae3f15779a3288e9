import assert from 'node:assert/strict'
import { test } from 'node:test'
import { csvOf } from './csv.ts'

test('cells are quoted where they must be, and no formula is left', () => {
  assert.equal(csvOf(['a', 'b'], [['x,"y"', 2.93]]), 'a,b\r\n"x,""y""",2.93\r\n')
  assert.equal(
    csvOf(['a'], [['=1+1'], ['@cmd'], [null], [-5]]),
    "a\r\n'=1+1\r\n'@cmd\r\n\r\n-5\r\n",
  )
})
