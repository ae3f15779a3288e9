// Changes of the statements in tagged templates: terms of `and` and `or` dropped, comparisons
// shifted, `is null` and `exists` turned round, numbers in predicates one higher. What stands in
// `${}` is a value to the statement, and code to code_edits.ts.

import { type Source, type Tree, walk } from '../source.ts'
import { oneMore } from './code_edits.ts'
import type { Edit } from './edit.ts'

/** A word, a sign or a value of a statement, and where it stands in the file. */
type Token = {
  text: string
  start: number
  end: number
  /** How many brackets and `case`s it stands in. */
  depth: number
}

const STATEMENT = /^\s*(select|insert|update|delete|with|values|merge)\b/i

export function sqlEdits({ tree, code }: Source): Edit[] {
  return walk(tree).flatMap(({ type, quasi }) => {
    if (type !== 'TaggedTemplateExpression') return []
    const { quasis, expressions } = quasi as Tree & { quasis: Tree[]; expressions: Tree[] }
    const first = quasis[0]!
    if (!STATEMENT.test(code.slice(first.start, first.end))) return []
    const tokens = tokensOf(code, quasis, expressions)
    return tokens.flatMap((_, i) => editsAt(tokens, i, code))
  })
}

const TOKEN =
  /--[^\n]*|'(?:[^']|'')*'|"[^"]*"|[a-z_][\w$]*|\d+(?:\.\d+)?|::|[<>=!~@#%^&|*/+?-]+|\S/giy

/** The tokens of a statement. A value between two pieces of text is one. */
function tokensOf(code: string, quasis: readonly Tree[], values: readonly Tree[]): Token[] {
  const tokens: Token[] = []
  let depth = 0
  const add = (text: string, start: number, end: number) => {
    if (text === ')' || text === 'end') depth -= 1
    tokens.push({ text, start, end, depth })
    if (text === '(' || text === 'case') depth += 1
  }
  quasis.forEach(({ start, end }, i) => {
    for (TOKEN.lastIndex = start; TOKEN.lastIndex < end; ) {
      const found = nextToken(code)
      if (!found || found.index >= end) break
      const text = found[0]
      if (!text.startsWith('--')) add(text.toLowerCase(), found.index, TOKEN.lastIndex)
    }
    const value = values[i]
    if (value) add('$', code.lastIndexOf('${', value.start), code.indexOf('}', value.end) + 1)
  })
  return tokens
}

function nextToken(code: string): RegExpExecArray | null {
  while (/\s/.test(code[TOKEN.lastIndex] ?? '')) TOKEN.lastIndex += 1
  return TOKEN.exec(code)
}

const SHIFTED: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '=': '<>',
  '<>': '=',
  '!=': '=',
}

function editsAt(tokens: readonly Token[], i: number, code: string): Edit[] {
  const { text, start, end } = tokens[i]!
  const clause = clauseOf(tokens, i)
  const is_predicate = PREDICATES.includes(clause)
  if (text === 'where') return wholePredicate(tokens, i, code)
  if ((text === 'and' || text === 'or') && !endsBetween(tokens, i))
    return droppedTerms(tokens, i, code)
  const to = SHIFTED[text]
  if (to !== undefined) {
    // An assignment is no comparison.
    if (text === '=' && !is_predicate) return []
    return [{ start, end, text: to, kind: `${text} to ${to}` }]
  }
  if (is_predicate && /^\d+$/.test(text)) {
    return [{ start, end, text: oneMore(text), kind: 'number one higher' }]
  }
  return turnedRound(tokens, i)
}

/** Words after which a predicate stands, and words that end one. */
const PREDICATES = ['where', 'on', 'having', 'when', 'and', 'or']
const CLAUSES = [
  ...['select', 'from', 'set', 'values', 'using', 'join', 'left', 'inner', 'cross', 'order'],
  ...['group', 'limit', 'returning', 'for', 'union', 'then', 'else', 'do', 'window', 'offset'],
  ...['with', 'insert', 'update', 'delete', 'into', 'conflict', 'except', 'intersect', 'lateral'],
  ...['full', 'right', 'partition', 'within', 'materialized', 'nothing', 'table', 'as', 'end'],
]

/** The word that begins what a token stands in: the last one of its brackets, or of those around
 *  them. */
function clauseOf(tokens: readonly Token[], i: number): string {
  let { depth } = tokens[i]!
  for (let k = i - 1; k >= 0; k--) {
    const { text, depth: at } = tokens[k]!
    if (at > depth) continue
    if (at < depth) depth = at
    // `is distinct from` begins nothing.
    if (text === 'from' && tokens[k - 1]?.text === 'distinct') continue
    if (PREDICATES.includes(text) || CLAUSES.includes(text)) return text
  }
  return ''
}

/** Whether an `and` belongs to a `between`. */
function endsBetween(tokens: readonly Token[], i: number): boolean {
  const { depth } = tokens[i]!
  for (let k = i - 1; k >= 0; k--) {
    const { text, depth: at } = tokens[k]!
    if (at < depth) return false
    if (at > depth) continue
    if (text === 'between') return true
    if (PREDICATES.includes(text) || CLAUSES.includes(text)) return false
  }
  return false
}

/** The last token of the term that begins at a place. */
function termEnd(tokens: readonly Token[], from: number): number {
  const { depth } = tokens[from]!
  let between = false
  for (let k = from; k < tokens.length; k++) {
    const { text, depth: at } = tokens[k]!
    if (at < depth) return k - 1
    if (at > depth || k === from) continue
    if (text === 'from' && tokens[k - 1]?.text === 'distinct') continue
    if (text === 'and' && between) between = false
    else if (text === 'between') between = true
    else if (text === ',' || text === ';' || PREDICATES.includes(text)) return k - 1
    else if (CLAUSES.includes(text) && !(text === 'end' && at === depth)) return k - 1
  }
  return tokens.length - 1
}

/** The term on the left and the one on the right; in a chain the one on the left is the right one
 *  of the word before. */
function droppedTerms(tokens: readonly Token[], i: number, code: string): Edit[] {
  const { text, start, depth } = tokens[i]!
  const kind = `term of ${text} dropped`
  const last = tokens[termEnd(tokens, i + 1)]!
  const dropped: Edit[] = [{ start: beforeBlanks(code, start), end: last.end, text: '', kind }]
  for (let k = i - 1; k >= 0; k--) {
    const { text: word, depth: at } = tokens[k]!
    if (at > depth) continue
    if (at === depth && (word === 'and' || word === 'or') && !endsBetween(tokens, k)) return dropped
    const begins = at < depth || PREDICATES.includes(word) || [',', 'as', 'select'].includes(word)
    if (!begins) continue
    const from = tokens[k + 1]!.start
    return [...dropped, { start: from, end: tokens[i + 1]!.start, text: '', kind }]
  }
  return dropped
}

function beforeBlanks(code: string, position: number): number {
  let start = position
  while (/\s/.test(code[start - 1] ?? '')) start -= 1
  return start
}

/** `where` with one term alone. */
function wholePredicate(tokens: readonly Token[], i: number, code: string): Edit[] {
  const last = termEnd(tokens, i + 1)
  const next = tokens[last + 1]
  if (next && next.depth === tokens[i + 1]!.depth && ['and', 'or'].includes(next.text)) return []
  const [start, end] = [tokens[i + 1]!.start, tokens[last]!.end]
  if (code.slice(start, end) === 'true') return []
  return [{ start, end, text: 'true', kind: 'predicate dropped' }]
}

/** `is null`, `is distinct from`, `exists`, `in`: with or without a `not`. */
function turnedRound(tokens: readonly Token[], i: number): Edit[] {
  const [before, token, next] = [tokens[i - 1]?.text, tokens[i]!, tokens[i + 1]]
  const { text, start, end } = token
  const kind = `${text} turned round`
  if (text === 'not' && ['exists', 'in', 'null', 'distinct', 'like'].includes(next?.text ?? ''))
    return [{ start, end: next!.start, text: '', kind }]
  if (text === 'exists' && before !== 'not' && before !== 'if')
    return [{ start, end, text: 'not exists', kind }]
  if (text === 'in' && before !== 'not') return [{ start, end, text: 'not in', kind }]
  const has_is = text === 'is' && ['null', 'distinct'].includes(next?.text ?? '')
  return has_is ? [{ start, end, text: 'is not', kind }] : []
}
