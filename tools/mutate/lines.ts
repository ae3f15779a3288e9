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

/** A set of lines of a text as one of what the text has become: a line that is new goes with the
 *  last one above it that is not. */
export function movedLines(set: string, before: string, after: string): string {
  const [old_lines, new_lines] = [before.split('\n'), after.split('\n')]
  const bits = new Uint8Array((new_lines.length >> 3) + 1)
  const from = linesBefore(old_lines, new_lines)
  for (const line of new_lines.keys())
    if (hasLine(set, from[line]! + 1)) bits[line >> 3]! |= bitOf(line)
  return Buffer.from(bits).toString('base64')
}

/** For each new line the old one that it was, or goes with: the longest common sequence. */
function linesBefore(old_lines: readonly string[], new_lines: readonly string[]): number[] {
  const width = new_lines.length + 1
  const lengths = new Uint16Array((old_lines.length + 1) * width)
  for (let i = old_lines.length - 1; i >= 0; i--)
    for (let k = new_lines.length - 1; k >= 0; k--)
      lengths[i * width + k] =
        old_lines[i] === new_lines[k]
          ? lengths[(i + 1) * width + k + 1]! + 1
          : Math.max(lengths[(i + 1) * width + k]!, lengths[i * width + k + 1]!)
  const from: number[] = []
  let i = 0
  for (let k = 0; k < new_lines.length; ) {
    if (i < old_lines.length && old_lines[i] === new_lines[k]) {
      from[k++] = i++
    } else if (
      i < old_lines.length &&
      lengths[(i + 1) * width + k]! >= lengths[i * width + k + 1]!
    ) {
      i += 1
    } else {
      from[k] = Math.max(0, i - 1)
      k += 1
    }
  }
  return from
}
