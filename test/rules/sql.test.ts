// Every statement in the source is one that the migrated schema accepts: a column that is renamed
// breaks here, by file and line. Statements are parsed by the server and not run.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import {
  isNode,
  parseSource,
  readSources,
  type Source,
  type Tree,
  walk,
  where,
} from '../../tools/source.ts'
import { freshDatabase } from '../harness/database.ts'

/** The names under which a query function is called, and what sends without waiting. */
const TAGS = new Set(['sql', 'tx', 'send'])

type Statement = { text: string; where: string }

/** The templates tagged sql, tx or tx.send (also as the end of a path, `needs.sql`), with $1, $2
 *  ... for the values. */
function statements(source: Source): Statement[] {
  const found: Statement[] = []
  for (const node of walk(source.tree)) {
    if (!isStatement(node) || !isNode(node.quasi)) continue
    const parts = node.quasi.quasis as { value: { cooked: string } }[]
    const text = parts.map(({ value }, i) => (i === 0 ? '' : `$${i}`) + value.cooked).join('')
    found.push({ text, where: where(source, node.start) })
  }
  return found
}

const isStatement = (node: Tree): boolean =>
  node.type === 'TaggedTemplateExpression' && isNode(node.tag) && TAGS.has(lastName(node.tag))

/** Where a statement stands by itself: nobody waits for it, and its failure is nobody's. */
function floating(source: Source): string[] {
  const found: string[] = []
  for (const node of walk(source.tree)) {
    if (node.type !== 'ExpressionStatement') continue
    for (const value of unused(node.expression as Tree)) {
      const sent = isNode(value.tag) && lastName(value.tag) === 'send'
      if (isStatement(value) && !sent) found.push(where(source, value.start))
    }
  }
  return found
}

/** The expressions whose values an expression leaves unused when it is a statement. */
function unused(node: Tree): Tree[] {
  const { type, argument, left, right, consequent, alternate, expressions } = node
  const inside =
    type === 'UnaryExpression'
      ? [argument]
      : type === 'LogicalExpression'
        ? [left, right]
        : type === 'ConditionalExpression'
          ? [consequent, alternate]
          : type === 'SequenceExpression'
            ? (expressions as unknown[])
            : type === 'CallExpression'
              ? promiseOf(node)
              : undefined
  return inside === undefined ? [node] : inside.filter(isNode).flatMap(unused)
}

/** The promise that a call of `then` or `finally` is made on: what comes back is left unused as
 *  much as that. After `catch` somebody has its failure. */
function promiseOf({ callee }: Tree): unknown[] | undefined {
  const called = isNode(callee) && callee.type === 'MemberExpression' ? callee : undefined
  return called && /^(then|finally)$/.test(lastName(called)) ? [called.object] : undefined
}

function lastName(tag: Record<string, unknown>): string {
  const name = tag.type === 'MemberExpression' ? tag.property : tag
  return isNode(name) && typeof name.name === 'string' ? name.name : ''
}

/** Sends one statement to be parsed and described, and nothing else. */
class Parse {
  readonly done: Promise<void>
  #text: string
  #end: () => void = () => {}
  #fail: (thrown: Error) => void = () => {}

  constructor(text: string) {
    this.#text = text
    this.done = new Promise((resolve, reject) => {
      this.#end = resolve
      this.#fail = reject
    })
  }
  submit(connection: pg.Connection) {
    connection.parse({ name: '', text: this.#text, types: [] }, true)
    connection.describe({ type: 'S', name: '' }, true)
    connection.sync()
  }
  handleError(thrown: Error) {
    this.#fail(thrown)
  }
  handleReadyForQuery() {
    this.#end()
  }
  handleRowDescription() {}
}

/** What the schema refuses, one line each. */
async function refused(t: TestContext, found: readonly Statement[]): Promise<string[]> {
  const { url } = await freshDatabase(t)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const lines: string[] = []
  for (const statement of found) {
    await client.query(new Parse(statement.text)).done.catch((thrown: Error) => {
      lines.push(`${statement.where} ${thrown.message}`)
    })
  }
  await client.end()
  return lines
}

/** Tests may have tables of their own; their statements are run anyway. */
const service = (await readSources('packages/service')).filter(
  ({ path }) => !path.endsWith('.test.ts'),
)

test('the migrated schema accepts every statement in the source', async (t) => {
  const lines = await refused(t, service.flatMap(statements))
  assert.equal(lines.length, 0, `\n${lines.join('\n')}`)
})

test('no statement in the source is overlooked', async () => {
  for (const source of service) {
    const by_text = source.code.match(/\b(sql|tx|send)\s*`/g)?.length ?? 0
    assert.equal(statements(source).length, by_text, source.path)
    for (const node of walk(source.tree)) {
      if (node.type !== 'TaggedTemplateExpression' || !isNode(node.tag)) continue
      assert.match(
        lastName(node.tag),
        /^(sql|tx|send|raw)$/,
        `${where(source, node.start)} is a template of another kind`,
      )
    }
  }
})

test('every statement is awaited, returned or sent', () => {
  assert.deepEqual(service.flatMap(floating), [])
})

test('a statement that nobody waits for is named by file and line', () => {
  const bad = `async function change(tx: Tx, needs: Needs) {
    tx.send\`select 1\`
    const kept = tx\`select 1\`
    await Promise.all([kept, tx\`select 1\`])
    tx\`select 1\`
    if (needs) void needs.sql\`select 1\`
    needs && tx\`select 1\`
    tx\`select 1\`.then(() => kept).finally(() => kept)
    tx\`select 1\`.then(() => kept).catch(() => {})
    await tx\`select 1\`.then(() => kept)
    return [1].map(() => tx\`select 1\`)
  }`
  assert.deepEqual(floating(parseSource('src/bad.ts', bad)), [
    'src/bad.ts:5',
    'src/bad.ts:6',
    'src/bad.ts:7',
    'src/bad.ts:8',
  ])
})

test('a statement that does not fit the schema is named by file and line', async (t) => {
  const bad = `async function look(needs: Needs, id: string) {
    const [good] = await needs.sql<Row>\`select name from migration where number = \${id}\`
    return needs.sql.begin((tx) => tx\`select nam from migration where number = \${id}\`)
  }`
  const found = statements(parseSource('src/bad.ts', bad))
  assert.deepEqual(await refused(t, found), ['src/bad.ts:3 column "nam" does not exist'])
})
