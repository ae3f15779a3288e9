import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { LANGUAGES } from 'penstock-web/build/languages.ts'
import { CATEGORIES } from '../flow/categories.ts'
import { wordsOf } from './words.ts'

const read = async (name: string) => readFile(new URL(name, import.meta.url), 'utf8')
const catalogueOf = async (language: string) =>
  JSON.parse(await read(`./${language}.json`)) as Record<string, string>
const parametersOf = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map(([one]) => one).sort()

test('each language says the same, with the same parameters, and nothing is empty', async () => {
  const english = await catalogueOf('en')
  for (const language of LANGUAGES) {
    const words = await catalogueOf(language)
    assert.deepEqual(Object.keys(words), Object.keys(english).sort(), language)
    for (const [key, text] of Object.entries(words)) {
      assert.ok(text.trim() !== '', `${language} ${key}`)
      assert.deepEqual(parametersOf(text), parametersOf(english[key]!), `${language} ${key}`)
      if (language !== 'en') assert.notEqual(text, english[key], `${language} ${key}`)
    }
  }
})

test('no key is there that nothing says', async () => {
  let source = ''
  for await (const path of glob('*.ts', { cwd: import.meta.dirname }))
    if (!path.endsWith('.test.ts')) source += await read(`./${path}`)
  const unused = Object.keys(await catalogueOf('en')).filter(
    (key) => !source.includes(`'${key}'`) && !/^rule\./.test(key),
  )
  assert.deepEqual(unused, [])
})

test('each category, level and bar has a name in each language', () => {
  for (const language of LANGUAGES) {
    const { nameOf } = wordsOf(language)
    for (const { name } of CATEGORIES) assert.ok(nameOf('category', name), `${language} ${name}`)
    for (const level of ['low', 'medium', 'high']) assert.ok(nameOf('level', level), level)
    for (const reason of ['list', 'issuer_freeze', 'denied'])
      assert.ok(nameOf('barred', reason), reason)
  }
})
