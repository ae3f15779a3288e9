// Changes of TypeScript: conditions negated, comparisons shifted, terms of `&&` and `||` dropped,
// numbers at edges one higher, early returns removed.

import { type Source, type Tree, walk } from '../source.ts'
import type { Edit } from './edit.ts'

const SHIFTED: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
}

export function codeEdits({ tree, code }: Source): Edit[] {
  const chosen = new Set(walk(tree).flatMap((node) => choiceBySize(node, code)))
  return walk(tree).flatMap((node) => {
    const of_type = EDITS[node.type]
    return of_type && !chosen.has(node) ? of_type(node, code) : []
  })
}

/** The comparison of `a < b ? a : b`: with `<=` it chooses between equals, and means the same. */
function choiceBySize({ type, test, consequent, alternate }: Tree, code: string): Tree[] {
  if (type !== 'ConditionalExpression') return []
  const { operator, left, right } = test as Tree
  if (!/^[<>]=?$/.test(String(operator))) return []
  const texts = ([a, b]: unknown[]) =>
    [a, b].map((one) => code.slice((one as Tree).start, (one as Tree).end)).sort()
  const same = texts([left, right]).join() === texts([consequent, alternate]).join()
  return same ? [test as Tree] : []
}

const EDITS: Readonly<Record<string, (node: Tree, code: string) => Edit[]>> = {
  IfStatement: (node, code) => [...negated(node.test as Tree, code), ...withoutReturn(node)],
  ConditionalExpression: (node, code) => negated(node.test as Tree, code),
  WhileStatement: (node, code) => negated(node.test as Tree, code),
  LogicalExpression: droppedTerms,
  BinaryExpression: (node, code) => [...shifted(node, code), ...edges(node, code)],
}

/** A comparison and a chain of terms have changes of their own, which say more. */
function negated(test: Tree, code: string): Edit[] {
  const { type, start, end } = test
  if (type === 'LogicalExpression' || (type === 'BinaryExpression' && isComparison(test))) return []
  const text = code.slice(start, end)
  const kind = 'condition negated'
  if (type === 'UnaryExpression' && test.operator === '!')
    return [{ start, end, text: text.replace(/^!\s*/, ''), kind }]
  return [{ start, end, text: `!(${text})`, kind }]
}

const isComparison = ({ operator }: Tree) => String(operator) in SHIFTED

const ENDS = ['ReturnStatement', 'ThrowStatement', 'ContinueStatement', 'BreakStatement']

/** `if (...) return ...` and what is like it, without an `else`. */
function withoutReturn({ start, end, consequent, alternate }: Tree): Edit[] {
  const inner = consequent as Tree
  const last = inner.type === 'BlockStatement' ? (inner.body as Tree[]).at(-1) : inner
  if (alternate || !last || !ENDS.includes(last.type)) return []
  return [{ start, end, text: '{}', kind: 'early return removed' }]
}

/** Each term once: of a chain, the node that has the term on its right drops it. */
function droppedTerms(node: Tree, code: string): Edit[] {
  const { start, end, operator } = node
  if (operator === '??') return []
  const [left, right] = [node.left as Tree, node.right as Tree]
  const kind = `term of ${operator} dropped`
  const kept = (term: Tree) => ({ start, end, text: code.slice(term.start, term.end), kind })
  const chain = left.type === 'LogicalExpression' && left.operator === operator
  return chain ? [kept(left)] : [kept(left), kept(right)]
}

function shifted(node: Tree, code: string): Edit[] {
  const operator = String(node.operator)
  const to = SHIFTED[operator]
  if (to === undefined) return []
  const start = code.indexOf(operator, (node.left as Tree).end)
  return [{ start, end: start + operator.length, text: to, kind: `${operator} to ${to}` }]
}

/** A number that something is compared with, and a small one that is added or taken off. */
function edges(node: Tree, code: string): Edit[] {
  const adds = node.operator === '+' || node.operator === '-'
  if (!adds && !isComparison(node)) return []
  return [node.left as Tree, node.right as Tree].flatMap((side) => {
    const { type, start, end } = side
    const digits = code.slice(start, end)
    if (type !== 'Literal' || !(adds ? /^\dn?$/ : /^[\d_]+n?$/).test(digits)) return []
    return [{ start, end, text: oneMore(digits), kind: 'number one higher' }]
  })
}

export function oneMore(digits: string): string {
  const big = digits.endsWith('n') ? 'n' : ''
  return `${BigInt(digits.replace(/n$/, '').replaceAll('_', '')) + 1n}${big}`
}
