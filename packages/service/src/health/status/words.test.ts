import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { LANGUAGES } from 'penstock-web/build/languages.ts'
import { wordsOf } from './words.ts'

const read = async (name: string) => readFile(new URL(name, import.meta.url), 'utf8')
const catalogues = await Promise.all(
  LANGUAGES.map(async (language) => {
    const words = JSON.parse(await read(`./${language}.json`)) as Record<string, string>
    return { language, words }
  }),
)
const english = catalogues[0]!.words
const parametersOf = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map(([one]) => one).sort()

test('each language says the same, with the same parameters, and nothing is empty', () => {
  for (const { language, words } of catalogues) {
    assert.deepEqual(Object.keys(words), Object.keys(english).sort(), language)
    for (const [key, text] of Object.entries(words)) {
      assert.ok(text.trim() !== '', `${language} ${key}`)
      assert.deepEqual(parametersOf(text), parametersOf(english[key]!), `${language} ${key}`)
    }
  }
})

test('no key is there that nobody says', async () => {
  const files = ['./document.ts', './front.ts', './front_prices.ts', './words.ts']
  const source = (await Promise.all(files.map(read))).join('')
  const families = ['all', 'part', 'state', 'rule', 'latency', 'column', 'link']
  const unused = Object.keys(english).filter(
    (key) => !source.includes(`'${key}'`) && !families.includes(key.split('.')[0]!),
  )
  assert.deepEqual(unused, [])
})

test('numbers, shares and durations are written as they are in the language', () => {
  const [en, ru] = [wordsOf('en'), wordsOf('ru')]
  assert.equal(en.duration(300), '300 ms')
  assert.equal(en.duration(2_500), '2.5 s')
  assert.equal(ru.duration(2_500), '2,5 с')
  assert.equal(en.duration(300_000), '5 min')
  assert.equal(en.percent(0.999_99), '99.99 %', 'never rounded up')
  assert.equal(en.percent(1), '100 %')
  const said = en.say('day', { day: '2026-11-01', up: 1_430, slow: 5, down: 5 })
  assert.equal(said, '2026-11-01: 1,430 minutes up, 5 slow, 5 down')
})
