// Whatever colour the house chooses, it can be read.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { accentShades, accentSheet, contrast, GROUNDS } from './accent.ts'

const tokens = await readFile(
  new URL('../../../web/shared/style/tokens.css', import.meta.url),
  'utf8',
)

test('the grounds are those of the pages', () => {
  for (const [i, name] of ['page', 'panel', 'sunken', 'hover'].entries())
    assert.ok(tokens.includes(`--${name}: light-dark(${GROUNDS.light[i]}, ${GROUNDS.dark[i]})`))
})

test('every colour is darkened or lightened until it has 4.5:1 on all grounds', () => {
  const parts = ['00', '33', '66', '99', 'cc', 'ff']
  for (const red of parts)
    for (const green of parts)
      for (const blue of parts) {
        const accent = `#${red}${green}${blue}`
        const shades = accentShades(accent)
        for (const theme of ['light', 'dark'] as const)
          for (const ground of [...GROUNDS[theme], theme === 'light' ? '#ffffff' : '#14171a'])
            assert.ok(contrast(shades[theme], ground) >= 4.5, `${accent} ${theme} on ${ground}`)
      }
})

test('a colour that can be read stays as it is', () => {
  assert.deepEqual(accentShades('#0b5cad').light, '#0b5cad')
  assert.deepEqual(accentShades('#7cb7ff').dark, '#7cb7ff')
  assert.equal(accentSheet('#000000'), ':root{--accent:light-dark(#000000,#8a8a8a)}\n')
})
