import assert from 'node:assert/strict'
import { test } from 'node:test'
import { browserText } from './browser.ts'

const MOZILLA = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)'

test('a browser is named with its system, whatever else it says that it is', () => {
  assert.equal(browserText(`${MOZILLA} Chrome/147.0.0.0 Safari/537.36`), 'Chrome, Linux')
  assert.equal(browserText(`${MOZILLA} Chrome/147.0 Safari/537.36 Edg/147.0`), 'Edge, Linux')
  assert.equal(
    browserText('Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1'),
    'Safari, iOS',
  )
  assert.equal(browserText('curl/8.5.0'), 'curl/8.5.0')
})
