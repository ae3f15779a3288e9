import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { deedsOf, deedText } from './deeds.ts'
import { speak } from './words.ts'

const WEB = join(import.meta.dirname, '../..')
const LANGUAGES = join(WEB, 'shared/languages')

async function speakAs(language: string, face: string): Promise<Record<string, string>> {
  const words: Record<string, string> = {}
  for (const part of ['frame', 'codes', face]) {
    const text = await readFile(join(LANGUAGES, language, `${part}.json`), 'utf8')
    Object.assign(words, JSON.parse(text))
  }
  speak(language, words)
  return words
}

const change = (action: string, subject: string, after: unknown = null) => ({
  number: 1,
  action,
  subject,
  before: null,
  after,
})

test('what was changed at once is one sentence, and names the things', async () => {
  await speakAs('en', 'console')
  const services = ['energy', 'bandwidth', 'aml', 'subscription'].map((one) =>
    change('services off', `service:${one}`),
  )
  assert.match(deedText('Oskar', services), /^Oskar took .*, .*, .* and 1 more off sale\.$/)
  assert.match(deedText('Oskar', services.slice(0, 1)), /^Oskar took \S+ off sale\.$/i)
  const key = change('keys revoke', 'key:01m7xps0ca8ksnnfg71x89vdp6', { name: 'shop' })
  assert.match(deedText('Oskar', [key]), /shop/)
  const unnamed = change('keys revoke', 'key:01m7xps0ca8ksnnfg71x89vdp6')
  assert.match(deedText('Oskar', [unnamed]), /01m7xp…89vdp6/)
  assert.equal(deedText('Oskar', [change('tides turn', 'sea')]), 'Oskar: tides turn (sea)')
})

test('changes are one deed where they are of one action, one person and one time', () => {
  const rows = [1, 1, 2, 2].map((number, i) => ({
    ...change(i === 3 ? 'services on' : 'services off', `service:${i}`),
    number,
  }))
  const deeds = deedsOf(rows, (one, other) => one.number === other.number)
  assert.deepEqual(
    deeds.map((deed) => deed.map(({ subject }) => subject)),
    [['service:0', 'service:1'], ['service:2'], ['service:3']],
  )
  assert.deepEqual(
    deedsOf([], () => true),
    [],
  )
})

/** What is called and not in the record: trials, and what a program does before it is let in. */
const NOT_RECORDED = ['webhook/test', 'event/trigger', 'pairing/new', 'pairing/take']

test('whatever a customer can change is said in a sentence, in each language', async () => {
  const printed = await readFile(join(WEB, '../sdk/src/wire/endpoints.ts'), 'utf8')
  const repeated = printed.matchAll(
    /^ {2}'\/v1\/([^']+)': '(?:external_id|idempotency_key|nothing)'/gm,
  )
  const paths = [...repeated].map(([, path]) => path!)
  const changes = paths.filter((path) => !NOT_RECORDED.includes(path))
  assert.ok(changes.length > 20)
  for (const language of ['en', 'zh', 'ru']) {
    const words = await speakAs(language, 'portal')
    const absent = changes.filter((action) => !words[`did.${action}`])
    assert.deepEqual(absent, [], language)
  }
  speak('en', {})
})

test('whatever an operator can change in the console is said in a sentence, too', async () => {
  const printed = await readFile(join(WEB, 'console/calls/operations.ts'), 'utf8')
  const operations = printed.split(/^ {2}'/m).slice(1)
  const changes = operations
    .filter((text) => /\breason: string\b/.test(bodyOf(text)))
    .map((text) => text.slice(0, text.indexOf("'")))
  assert.ok(changes.length > 30, `${changes.length}`)
  for (const language of ['en', 'zh', 'ru']) {
    const words = await speakAs(language, 'console')
    const absent = changes.filter((words_of) => !words[`did.${words_of}`])
    assert.deepEqual(absent, [], language)
  }
  speak('en', {})
})

/** What an operation takes, as it is printed. */
const bodyOf = (text: string): string => text.slice(0, text.search(/reply:/) + 'reply:'.length)
