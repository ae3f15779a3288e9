// Which lines of a file have been executed: V8 tells it by blocks, and lines are what is kept. A
// set of lines is a row of bits, as base64.

import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ROOT } from '../source.ts'

/** Of V8: nested blocks follow those that they are in. */
export type ScriptCoverage = {
  url: string
  functions: { ranges: { startOffset: number; endOffset: number; count: number }[] }[]
}

/** Sets of lines, by path from the root of the repository. */
export type FileLines = Record<string, string>

const OURS = /^(packages|test\/mutation)\/(?!.*\bnode_modules\b).*(?<!\.test)\.ts$/

export function executedLines(scripts: readonly ScriptCoverage[]): FileLines {
  const found: FileLines = {}
  for (const { url, functions } of scripts) {
    if (!url.startsWith('file:')) continue
    const path = relative(ROOT, fileURLToPath(url))
    if (!OURS.test(path)) continue
    const bits = linesOf(textOf(path), functions)
    if (bits) found[path] = mergedLines(found[path], Buffer.from(bits).toString('base64'))
  }
  return found
}

const texts = new Map<string, string>()

function textOf(path: string): string {
  const known = texts.get(path) ?? readFileSync(`${ROOT}${path}`, 'utf8')
  texts.set(path, known)
  return known
}

function linesOf(text: string, functions: ScriptCoverage['functions']): Uint8Array | undefined {
  if (!functions.some(({ ranges }) => ranges.some(({ count }) => count > 0))) return undefined
  const executed = new Uint8Array(text.length)
  for (const { ranges } of functions)
    for (const { startOffset, endOffset, count } of ranges)
      executed.fill(count > 0 ? 1 : 0, startOffset, endOffset)
  const bits = new Uint8Array((text.split('\n').length >> 3) + 1)
  let line = 0
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '\n') line += 1
    else if (executed[i] === 1 && text[i] !== ' ') bits[line >> 3]! |= bitOf(line)
  }
  return bits
}

const bitOf = (line: number) => 1 << (line & 7)

/** Whether a set has a line; lines begin with 1. */
export function hasLine(set: string | undefined, line: number): boolean {
  if (set === undefined) return false
  const byte = Buffer.from(set, 'base64')[(line - 1) >> 3] ?? 0
  return (byte & bitOf(line - 1)) !== 0
}

export function mergedLines(a: string | undefined, b: string): string {
  if (a === undefined) return b
  const [one, other] = [Buffer.from(a, 'base64'), Buffer.from(b, 'base64')]
  const length = Math.max(one.length, other.length)
  const both = Uint8Array.from({ length }, (_, i) => (one[i] ?? 0) | (other[i] ?? 0))
  return Buffer.from(both).toString('base64')
}
