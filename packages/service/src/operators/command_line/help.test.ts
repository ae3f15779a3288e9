// What the command line says of itself fits into a terminal of 100 columns.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { columns } from 'penstock-command-line/fitting.ts'
import { usage } from '../../config.ts'
import { OPERATIONS } from '../operations.ts'
import { helpOf, overview } from './help.ts'

test('no line of any help is wider than 100 columns', () => {
  const texts = [...OPERATIONS.map(helpOf), overview(OPERATIONS), usage('serve'), usage('start')]
  const lines = texts.flatMap((text) => text.split('\n'))
  assert.deepEqual(
    lines.filter((line) => line.length > 100),
    [],
  )
  assert.ok(lines.length > 2_000)
})

test('every name and every word of a meaning is there, the meanings below one another', () => {
  const words = Array.from({ length: 30 }, (_, i) => `word${i}`)
  const names = Array.from({ length: 30 }, (_, i) => `name${i}`)
  const lines = columns([
    ['--a A', words.join(' ')],
    [`--b ${names.join('|')}`, 'what b is'],
    ['--none', ''],
  ])
  assert.ok(lines.every((line) => line.length <= 100 && line === line.trimEnd()))
  assert.deepEqual(lines.join(' ').split(/[ |]+/).slice(1), [
    '--a',
    'A',
    ...words,
    '--b',
    ...names,
    'what',
    'b',
    'is',
    '--none',
  ])
  const places = lines.map((line) => line.search(/word0|what/)).filter((place) => place >= 0)
  assert.deepEqual(places, [10, 10])
})
