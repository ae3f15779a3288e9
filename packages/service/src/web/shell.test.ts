import assert from 'node:assert/strict'
import { test } from 'node:test'
import { documentHeaders } from './shell.ts'

test('a document is shown in no frame, kept nowhere, and over https by https alone', () => {
  const [secure, plain] = [true, false].map((is_https) => documentHeaders({ is_https }))
  const policy = secure!['content-security-policy']!.split('; ')
  for (const directive of [
    "default-src 'none'",
    "script-src 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "form-action 'none'",
  ])
    assert.ok(policy.includes(directive), directive)
  assert.doesNotMatch(policy.join(), /unsafe|\*/)
  assert.equal(secure!['x-content-type-options'], 'nosniff')
  assert.equal(secure!['referrer-policy'], 'no-referrer')
  assert.equal(secure!['cache-control'], 'no-store')
  const { 'strict-transport-security': by_https = '', ...rest } = secure!
  assert.ok(Number(/^max-age=(\d+)$/.exec(by_https)?.[1]) >= 365 * 86_400)
  assert.deepEqual(plain, rest)
})
