// The colours can be told apart: contrasts are computed from the sheet, for both themes.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'

const sheet = await readFile(join(import.meta.dirname, 'tokens.css'), 'utf8')
const TOKEN = /--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/g
const tokens = new Map(
  [...sheet.matchAll(TOKEN)].map(([, name, light, dark]) => [name!, [light!, dark!] as const]),
)
const THEMES = ['light', 'dark'] as const

const colour = (name: string, theme: (typeof THEMES)[number]): string => {
  const found = tokens.get(name)
  assert.ok(found, name)
  return found[THEMES.indexOf(theme)]!
}

/** Relative luminance, as WCAG defines it. */
function luminance(hex: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(hex.slice(at, at + 2), 16) / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!
}

function contrast(one: string, other: string): number {
  const [more, less] = [luminance(one), luminance(other)].sort((a, b) => b - a)
  return (more! + 0.05) / (less! + 0.05)
}

test('text can be read on both grounds, in both themes', () => {
  for (const theme of THEMES)
    for (const ground of ['page', 'panel', 'sunken', 'hover'])
      for (const name of ['text', 'quiet', 'accent', 'good', 'warn', 'bad']) {
        const found = contrast(colour(name, theme), colour(ground, theme))
        assert.ok(found >= 4.5, `${name} on ${ground}, ${theme}: ${found.toFixed(2)}`)
      }
})

test('a state, and what is written beside it, can be read on the ground of that state', () => {
  for (const theme of THEMES)
    for (const state of ['good', 'warn', 'bad'])
      for (const name of [state, 'text']) {
        const found = contrast(colour(name, theme), colour(`${state}-soft`, theme))
        assert.ok(found >= 4.5, `${name} on ${state}-soft, ${theme}: ${found.toFixed(2)}`)
      }
})

test('the borders of controls are seen, and the words of the main button are read', () => {
  for (const theme of THEMES) {
    for (const ground of ['page', 'panel', 'sunken'])
      assert.ok(
        contrast(colour('control', theme), colour(ground, theme)) >= 3,
        `${ground} ${theme}`,
      )
    for (const name of ['accent', 'bad'])
      assert.ok(
        contrast(colour(`on-${name}`, theme), colour(name, theme)) >= 4.5,
        `${name} ${theme}`,
      )
  }
})

test('contrast is that of WCAG', () => {
  assert.equal(contrast('#000000', '#ffffff'), 21)
  assert.equal(contrast('#777777', '#ffffff').toFixed(2), '4.48')
})
