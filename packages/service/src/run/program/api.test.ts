// Where customers find the service: what is said of that where nobody has set it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { publicUrl } from './api.ts'

test('the address of the service is the one that is set, or its port on this machine', () => {
  assert.equal(publicUrl({ public_url: undefined, port: 8080 }), 'http://localhost:8080')
  assert.equal(publicUrl({ public_url: undefined, port: 1 }), 'http://localhost:1')
  assert.equal(publicUrl({ public_url: undefined, port: 0 }), undefined, 'any that is free')
  assert.equal(publicUrl({ public_url: 'https://penstock', port: 0 }), 'https://penstock')
})
