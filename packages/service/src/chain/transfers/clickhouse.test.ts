import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Misuse } from '../../lib/fault.ts'
import { readClickHouseUrl } from './clickhouse.ts'

const read = (url: string) => readClickHouseUrl(url, 'PENSTOCK_CLICKHOUSE_URL')

test('the URL of ClickHouse has user, password and database, each as it was meant', () => {
  assert.deepEqual(read('https://me:p%40ss%3Aw@ch.internal:8443/log'), {
    url: 'https://ch.internal:8443',
    user: 'me',
    password: 'p@ss:w',
    database: 'log',
  })
  assert.deepEqual(read('http://127.0.0.1:8123'), {
    url: 'http://127.0.0.1:8123',
    user: 'default',
    password: '',
    database: 'default',
  })
})

test('a URL that is not one of ClickHouse is refused, and its password is not repeated', () => {
  for (const url of [
    'ch.internal:8123',
    'tcp://u:secret@ch:9000/log',
    'http://u:secret@ch:8123/log?database=other',
    'http://u:secret@ch:8123/log#part',
    'http://u:secret@ch:8123/log/more',
    'http://u:secret@ch:8123/1log',
    "http://u:secret@ch:8123/log';drop",
    'http://u:secret%zz@ch:8123/log',
    'http://u:secret%ff@ch:8123/log',
    'http://u:secret%0a@ch:8123/log',
    '',
  ]) {
    assert.throws(
      () => read(url),
      (thrown) => thrown instanceof Misuse && !thrown.message.includes('secret'),
      url,
    )
  }
})
