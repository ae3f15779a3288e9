// On which Node everything installs and runs: one promise for all packages but the SDK, which is
// for programs of others and promises more; and nothing that npm installs asks for a newer one.

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT } from '../../tools/source.ts'

const LOWEST = '20.19.0'
const PROMISE = '>=20.19'
const PROMISE_OF_THE_SDK = '>=18'

type Manifest = { engines?: { node?: string }; optional?: boolean; link?: boolean }
const readJson = <T>(path: string) => JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as T

test('all packages promise the same Node, the SDK an older one', () => {
  const manifests = ['package.json', ...globSync('{packages/*,test}/package.json', { cwd: ROOT })]
  assert.ok(manifests.length > 8)
  for (const path of manifests) {
    const wanted = path === 'packages/sdk/package.json' ? PROMISE_OF_THE_SDK : PROMISE
    assert.equal(readJson<Manifest>(path).engines?.node, wanted, path)
  }
})

const numbers = (version: string) => version.split('.').map(Number)

/** Whether a version is at least another one. */
function isAtLeast(version: string, other: string): boolean {
  const [a, b] = [numbers(version), numbers(other)]
  const i = a.findIndex((part, i) => part !== (b[i] ?? 0))
  return i === -1 || a[i]! > (b[i] ?? 0)
}

/** Whether a range of npm's has the lowest Node in it; one that it cannot read, it has not. */
function takesLowest(range: string): boolean {
  return range.split('||').some((part) =>
    part
      .replace(/([<>=^~]+)\s+/g, '$1')
      .trim()
      .split(/\s+/)
      .every((bound) => {
        const [, sign = '', version = ''] =
          /^([<>=^~]*)v?(\d+(?:\.\d+)*)(?:\.x)?$/.exec(bound) ?? []
        const same_major = numbers(version)[0] === numbers(LOWEST)[0]
        if (bound === '*') return true
        if (sign === '>=') return isAtLeast(LOWEST, version)
        if (sign === '<') return !isAtLeast(LOWEST, version)
        return version !== '' && same_major && isAtLeast(LOWEST, version)
      }),
  )
}

test('nothing that npm installs asks for a newer Node: `npm ci` warns of nothing', () => {
  const { packages } = readJson<{ packages: Record<string, Manifest> }>('package-lock.json')
  const newer = Object.entries(packages).flatMap(([path, { engines }]) =>
    engines?.node === undefined || takesLowest(engines.node) ? [] : [`${path} ${engines.node}`],
  )
  assert.deepEqual(newer, [])
})

test('ranges are read as npm reads them', () => {
  const taken = ['*', '>=20.19', '>= 18', '18 || 20 || >=22', '^20.19.0 || >=22.12.0', '20.x']
  assert.deepEqual(taken.filter(takesLowest), taken)
  const refused = ['>=22', '>=20.19.1', '18 || >=22', '^18.0.0', '<20', '^20.20.0']
  assert.deepEqual(refused.filter(takesLowest), [])
})
