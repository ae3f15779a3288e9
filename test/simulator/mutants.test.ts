// Known mistakes: each is still in the source where it would be made, and the simulator finds some
// of them. `npm run torture -- mutants` goes through all.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { test } from 'node:test'
import { MUTANTS, staleEdits } from './mutants.ts'

/** Killed by one of the first seeds: quick enough to be shown each time. */
const SHOWN = [
  'an external id is not looked up',
  'too little is staked',
  'more is taken back than was given',
  'what lies on an address is collected twice',
  'the receiver of a batch is not compared',
]

test('the mistakes that the simulator must find are still in the source', async () => {
  const stale = await Promise.all(MUTANTS.map(staleEdits))
  assert.deepEqual(stale.flat(), [])
})

test('the simulator finds known mistakes', async () => {
  for (const name of SHOWN) {
    const found = await torture('sim', '--mutant', name, '--runs', '10')
    assert.notEqual(found.code, 0, `${name}: not found\n${found.output}`)
    assert.match(found.output, /^\{"seed"/, found.output)
  }
})

function torture(...args: string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [
    `${import.meta.dirname}/../torture/torture.ts`,
    ...args,
    '--json',
  ])
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8')
    })
  }
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, output })))
}
