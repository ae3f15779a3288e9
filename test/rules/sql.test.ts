// Every statement in the source is one that the migrated schema accepts: a column that is renamed
// breaks here, by file and line. Statements are parsed by the server and not run.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Columns, writeOutColumns } from 'penstock-service/platform/database/columns.ts'
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

/** The templates tagged sql, tx or tx.send (also as the end of a path, `needs.sql`), with lists of
 *  columns written out, and $1, $2 ... for the values. */
function statements(source: Source): Statement[] {
  const found: Statement[] = []
  for (const node of walk(source.tree)) {
    if (!isStatement(node) || !isNode(node.quasi)) continue
    const quasis = node.quasi.quasis as { value: { cooked: string } }[]
    const texts = quasis.map(({ value }) => value.cooked)
    const values = (node.quasi.expressions as Tree[]).map((one) => COLUMNS.get(lastName(one)))
    const { strings } = writeOutColumns(texts, values) ?? { strings: texts }
    const text = strings.reduce((sofar, part, i) => `${sofar}$${i}${part}`)
    found.push({ text, where: where(source, node.start) })
  }
  return found
}

/** The lists of columns that a file declares, by their names. */
function* declaredColumns({ tree }: Source): Iterable<[string, Columns]> {
  for (const { type, id, init } of walk(tree)) {
    if (type !== 'VariableDeclarator' || !isNode(init) || !isNode(init.callee)) continue
    const { callee } = init.callee
    if (!isNode(callee) || callee.name !== 'columnsOf') continue
    const [list] = init.arguments as [{ elements: { value: string }[] }]
    yield [lastName(id as Tree), new Columns(list.elements.map(({ value }) => value))]
  }
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
  /** The names and types of the columns that the statement answers with. */
  readonly done: Promise<string>
  #text: string
  #columns = ''
  #end: (columns: string) => void = () => {}
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
    this.#end(this.#columns)
  }
  handleRowDescription({ fields }: { fields: pg.FieldDef[] }) {
    this.#columns = fields.map(({ name, dataTypeID }) => `${name} ${dataTypeID}`).join()
  }
}

async function connected<T>(t: TestContext, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const { url } = await freshDatabase(t)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return work(client).finally(() => client.end())
}

/** What each statement answers with, or why the schema refuses it. */
async function described(client: pg.Client, found: readonly Statement[]): Promise<string[]> {
  const answers: string[] = []
  for (const { text } of found)
    answers.push(await client.query(new Parse(text)).done.catch(({ message }: Error) => message))
  return answers
}

/** What the schema refuses, one line each. */
const refused = (t: TestContext, found: readonly Statement[]): Promise<string[]> =>
  connected(t, async (client) => {
    const lines: string[] = []
    for (const statement of found) {
      await client.query(new Parse(statement.text)).done.catch((thrown: Error) => {
        lines.push(`${statement.where} ${thrown.message}`)
      })
    }
    return lines
  })

/** Gives every table one column more. */
const ADD_COLUMNS = `
  do $$
  declare
    table_name text;
  begin
    for table_name in
      select format('%I', relname) from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
    loop
      execute format('alter table %s add column added_later int', table_name);
    end loop;
  end $$`

/** Which statements answer differently when tables have a column more: their prepared plans die
 *  under the processes that run while it is added. */
const changing = (t: TestContext, found: readonly Statement[]): Promise<string[]> =>
  connected(t, async (client) => {
    const before = await described(client, found)
    await client.query(ADD_COLUMNS)
    const after = await described(client, found)
    return found.filter((_, i) => before[i] !== after[i]).map(({ where }) => where)
  })

/** Tests may have tables of their own; their statements are run anyway. */
const service = (await readSources('packages/service')).filter(
  ({ path }) => !path.endsWith('.test.ts'),
)

const declared = service.flatMap((source) => [...declaredColumns(source)])
const COLUMNS = new Map(declared)

test('a list of columns has a name that no other has', () => {
  assert.ok(declared.length > 0)
  assert.equal(COLUMNS.size, declared.length)
  for (const name of COLUMNS.keys()) assert.match(name, /^[A-Z]+_COLUMNS$/)
})

test('the migrated schema accepts every statement in the source', async (t) => {
  const lines = await refused(t, service.flatMap(statements))
  assert.equal(lines.length, 0, `\n${lines.join('\n')}`)
})

test('a column more in any table changes the answer of no statement', async (t) => {
  const lines = await changing(t, service.flatMap(statements))
  assert.equal(lines.length, 0, `name the columns in\n${lines.join('\n')}`)
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

test('a statement that answers with whatever columns there are is named', async (t) => {
  const bad = `async function look({ sql }: Needs) {
    await sql\`select * from orders\`
    await sql\`with o as (select * from orders) select id from o\`
    await sql\`with o as (select * from orders) select o.* from o\`
    await sql\`delete from orders returning *\`
    await sql\`select row(1, 'a', 'b', now(), 1)::migration\`
  }`
  const found = statements(parseSource('src/bad.ts', bad))
  assert.deepEqual(await changing(t, found), [
    'src/bad.ts:2',
    'src/bad.ts:4',
    'src/bad.ts:5',
    'src/bad.ts:6',
  ])
})
