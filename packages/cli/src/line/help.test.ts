// What the command line says of itself fits into a terminal of 100 columns.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { COMMANDS } from '../commands/table.ts'
import { helpOf, overview } from './help.ts'

test('no line of any help is wider than 100 columns', () => {
  const lines = [...COMMANDS.map(helpOf), overview(COMMANDS)].flatMap((text) => text.split('\n'))
  assert.deepEqual(
    lines.filter((line) => line.length > 100),
    [],
  )
  assert.ok(lines.length > 500)
})

test('what is too long for a line goes on in the next one, whole', () => {
  const trigger = helpOf(COMMANDS.find(({ words }) => words === 'trigger')!)
  assert.match(trigger.replaceAll(/\n +/g, ''), /\|order\.reverted\|order\.solid\|order\.ending\|/)
})
