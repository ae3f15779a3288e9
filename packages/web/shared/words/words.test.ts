// The catalogues are complete: the same keys and parameters in each language, every form of plural
// that it has, no key that nobody says.

import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { CUSTOMER_ROLES } from '../users/user.ts'
import { refusedText } from './refused.ts'
import { count, FAMILIES, named, say, speak } from './words.ts'

const WEB = join(import.meta.dirname, '../..')
const LANGUAGES = ['en', 'zh', 'ru']
type Catalogue = Record<string, string>

async function cataloguesOf(part: string): Promise<Record<string, Catalogue>> {
  const read = LANGUAGES.map(async (language) => {
    const text = await readFile(join(WEB, `shared/languages/${language}/${part}.json`), 'utf8')
    const keys = [...text.matchAll(/^ {2}"([^"]+)":/gm)].map(([, key]) => key!)
    assert.deepEqual(keys, [...keys].sort(), `${language}/${part}.json is sorted, no key twice`)
    return [language, JSON.parse(text) as Catalogue] as const
  })
  return Object.fromEntries(await Promise.all(read))
}

const parts = (await Array.fromAsync(glob('shared/languages/en/*.json', { cwd: WEB }))).map(
  (path) => /(\w+)\.json$/.exec(path)![1]!,
)
const catalogues = await Promise.all(parts.map(cataloguesOf))

/** What is said, without forms: each key with the parameters of all its forms. */
function saidBy(catalogue: Catalogue): Record<string, string[]> {
  const said: Record<string, Set<string>> = {}
  for (const [key, text] of Object.entries(catalogue)) {
    said[key.split('#')[0]!] ??= new Set()
    for (const [, name] of text.matchAll(/\{(\w+)\}/g)) said[key.split('#')[0]!]!.add(name!)
  }
  return Object.fromEntries(Object.entries(said).map(([key, names]) => [key, [...names].sort()]))
}

test('every code that a program can be refused with has words of its own', async () => {
  const { CODES } = await import('penstock-service/platform/http/refusal_codes.ts')
  const wanted = [
    ...CODES.map(({ code }) => String(code)),
    'auth.scope',
    'auth.second_signature',
    'auth.suspended',
    'insufficient_funds.daily_cap',
  ]
  for (const language of LANGUAGES) {
    const text = await readFile(join(WEB, `shared/languages/${language}/codes.json`), 'utf8')
    const words = JSON.parse(text) as Catalogue
    const missing = wanted.filter((name) => !words[`refused.${name}`])
    assert.deepEqual(missing, [], language)
    speak(language, words)
    assert.notEqual(refusedText(1, 'auth'), named('refusal', 'auth'), 'nobody is signed in')
    assert.equal(refusedText(1, 'auth.scope'), words['refused.auth.scope'])
    assert.equal(refusedText(10, 'invalid_network_address.to_address'), words['refused.10'])
  }
  speak('en', {})
})

test('each language says the same, with the same parameters', () => {
  assert.ok(parts.length >= 4)
  for (const { en, zh, ru } of catalogues) {
    assert.deepEqual(saidBy(zh!), saidBy(en!))
    assert.deepEqual(saidBy(ru!), saidBy(en!))
  }
})

test('a plural has every form of its language, and a text is not empty', () => {
  for (const of_part of catalogues)
    for (const [language, catalogue] of Object.entries(of_part)) {
      const forms = new Intl.PluralRules(language).resolvedOptions().pluralCategories.sort()
      const plurals = Map.groupBy(
        Object.keys(catalogue).filter((key) => key.includes('#')),
        (key) => key.split('#')[0]!,
      )
      for (const [key, found] of plurals)
        assert.deepEqual(found.map((one) => one.split('#')[1]).sort(), forms, `${language} ${key}`)
      for (const [key, text] of Object.entries(catalogue)) assert.ok(text.trim() !== '', key)
    }
})

test('no key is there that nobody says', async () => {
  const exclude = (name: string) => name === 'node_modules' || name === 'dist'
  let source = ''
  for await (const path of glob('**/*.{ts,tsx}', { cwd: WEB, exclude }))
    source += await readFile(join(WEB, path), 'utf8')
  const keys = catalogues.flatMap(({ en }) => Object.keys(saidBy(en!)))
  const unused = keys.filter(
    (key) => !source.includes(`'${key}'`) && !FAMILIES.some((one) => key.startsWith(`${one}.`)),
  )
  assert.deepEqual(unused, [])
})

test('each role of users has a name in each language', () => {
  const codes = catalogues[parts.indexOf('codes')]!
  for (const language of LANGUAGES)
    for (const role of CUSTOMER_ROLES)
      assert.ok(codes[language]![`role.${role}`], `${language}: ${role}`)
})

test('each alert has a name in each language, and none was left in English', async () => {
  const { ALERTS } = await import('penstock-service/health/monitoring/alerts.ts')
  const console_words = catalogues[parts.indexOf('console')]!
  for (const language of LANGUAGES)
    for (const alert of Object.keys(ALERTS)) {
      const name = console_words[language]![`alert.${alert}`]
      assert.ok(name, `${language}: ${alert}`)
      if (language !== 'en') assert.notEqual(name, console_words.en![`alert.${alert}`], language)
    }
})

test('words are said in the chosen language, with its plurals; numbers alike in each', () => {
  const { ru, en } = catalogues[parts.indexOf('frame')]!
  speak('ru', ru!)
  assert.equal(say('list.new', { n: 1 }), '1 новая')
  assert.equal(say('list.new', { n: 3 }), '3 новые')
  assert.equal(say('list.new', { n: 11 }), '11 новых')
  assert.equal(count(1_065_000), '1\u2009065\u2009000')
  speak('en', en!)
  assert.equal(say('list.new', { n: 1 }), '1 new')
  assert.equal(count(9.5), '9.5')
  assert.equal(count(-65_000), '-65\u2009000')
  assert.equal(named('state', 'never_heard_of'), 'never_heard_of')
})
