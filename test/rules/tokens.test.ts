// Colours, type and distances are tokens of one sheet: no other sheet, and no page, has one of its
// own. Beside tokens only shares of what is there stand in a sheet: per cent, ems, characters.

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT } from '../../tools/source.ts'

const STYLE = 'packages/web/shared/style'
const TOKENS = `${STYLE}/tokens.css`
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

/** A hairline has no token where it only hides something from the eye. */
const LENGTH = /(?<![\w.-])(?!1px\b)\d*\.?\d+(?:px|pt|rem|cm|mm|in)\b/g
const COLOUR = /#[0-9a-f]{3,8}\b|\b(?:rgb|rgba|hsl|hsla|oklch|lab|light-dark)\(/gi
const NAMED = /:[^;{}]*(?<![-\w])(?:white|black|red|green|blue|gray|grey|orange|yellow)(?![-\w])/gi

/** What of a sheet should be a token, with its line. */
function strays(css: string): string[] {
  const plain = css
    .replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ' '))
    // Conditions of a query take no variables.
    .replace(/@(?:media|container)[^{]*/g, (condition) => condition.replace(/[^\n]/g, ' '))
  return [LENGTH, COLOUR, NAMED].flatMap((pattern) =>
    [...plain.matchAll(pattern)].map(
      ({ 0: text, index }) => `${plain.slice(0, index).split('\n').length}: ${text.trim()}`,
    ),
  )
}

const sheets = globSync(`${STYLE}/*.css`, { cwd: ROOT })

test('no sheet but that of the tokens has a colour or a length of its own', () => {
  assert.ok(sheets.length > 5)
  for (const path of sheets.filter((path) => path !== TOKENS))
    assert.deepEqual(strays(read(path)), [], path)
})

test('no page has a style, a colour or a length of its own', () => {
  const pages = globSync('packages/web/{portal,console,shared}/**/*.tsx', { cwd: ROOT })
  assert.ok(pages.length > 80)
  for (const path of pages) {
    const code = read(path).replace(/^\s*(?:\/\/|\*|\/\*\*).*$/gm, '')
    const found = code.match(/\sstyle=|['"`]#[0-9a-f]{3,8}['"`]|\b\d+px\b|\brgb\(/gi)
    assert.equal(found, null, path)
  }
})

test('each token that is named is there, and each that is there is named', () => {
  const given = [...read(TOKENS).matchAll(/^\s*(--[\w-]+):/gm)].map(([, name]) => name!)
  const used = new Set(
    sheets.flatMap((path) => [...read(path).matchAll(/var\((--[\w-]+)/g)].map(([, name]) => name!)),
  )
  assert.deepEqual(
    [...used].filter((name) => !given.includes(name)),
    [],
  )
  assert.deepEqual(
    [...new Set(given)].filter((name) => !used.has(name)),
    [],
  )
})

test('strays are found, shares and hairlines are none', () => {
  const css = 'a { top: 3px; color: #fff;\n margin: 0 1px; width: 50%; gap: 1.5em; fill: red }'
  assert.deepEqual(strays(css), ['1: 3px', '1: #fff', '2: : red'])
  assert.deepEqual(strays('@media (max-width: 599px) { b { gap: var(--s3) } } /* 3px #fff */'), [])
})
