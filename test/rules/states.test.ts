// Each arrow of a state machine is a function in the file of its noun: no other statement makes a
// row or changes its state. What happens at an arrow (money, events) cannot be forgotten then.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseSource, readSources, type Source, walk, where } from '../../tools/source.ts'

const SRC = 'packages/service/src'

/** The file of each noun that has states, by its table. */
const NOUNS: Readonly<Record<string, string>> = {
  orders: `${SRC}/market/orders/orders.ts`,
  delegation: `${SRC}/market/pool/delegations.ts`,
  activation: `${SRC}/market/pool/activations.ts`,
  attempt: `${SRC}/chain/follow/attempts.ts`,
  deposit: `${SRC}/treasury/deposits/deposits.ts`,
  collection_transfer: `${SRC}/treasury/collecting/collections.ts`,
  aml_check: `${SRC}/screening/checks/checks.ts`,
  aml_case: `${SRC}/screening/cases/cases.ts`,
  subscription: `${SRC}/market/subscriptions/subscriptions.ts`,
  vote: `${SRC}/treasury/votes/votes.ts`,
  reward_claim: `${SRC}/treasury/votes/votes.ts`,
  customer: `${SRC}/people/customers/customers.ts`,
}

/** `update orders as o set state = …`; the columns end where the rows are named. */
const UPDATE = new RegExp(
  '\\bupdate\\s+(?:only\\s+)?(\\w+)(?:\\s+(?:as\\s+)?\\w+)?\\s+set\\b' +
    '(.*?)(?=\\b(?:where|from|returning)\\b|$)',
  'gis',
)
const INSERT = /\b(?:insert\s+into|delete\s+from)\s+(?:only\s+)?(\w+)/gi
/** `state = …`, also as one of `(state, reason) = …`. */
const STATE = /(^|[\s,(])state\s*(=|,[^()]*\)\s*=|\)\s*=)/i

/** The tables of which a statement makes or deletes rows, or changes states. */
function changedIn(text: string): string[] {
  const updated = [...text.matchAll(UPDATE)].filter(([, , columns]) => STATE.test(columns!))
  return [...updated, ...text.matchAll(INSERT)].map(([, table]) => table!)
}

/** Lines that change a noun's state, or make one, outside of its file. */
function changedElsewhere(source: Source): string[] {
  const lines: string[] = []
  for (const node of walk(source.tree)) {
    if (node.type !== 'TemplateLiteral') continue
    const parts = node.quasis as { value: { cooked: string } }[]
    for (const table of changedIn(parts.map(({ value }) => value.cooked).join('$'))) {
      const home = NOUNS[table]
      if (home !== undefined && home !== source.path)
        lines.push(`${where(source, node.start)} changes ${table}`)
    }
  }
  return lines
}

const service = (await readSources('packages/service')).filter(
  ({ path }) => !path.endsWith('.test.ts'),
)

test('the state of a noun is changed in its own file only', () => {
  assert.deepEqual(service.flatMap(changedElsewhere), [])
})

test('every noun is changed in its own file', () => {
  for (const [table, path] of Object.entries(NOUNS)) {
    const home = service.find((source) => source.path === path)
    const texts = [...walk(home!.tree)].flatMap((node) =>
      node.type === 'TemplateElement' ? [(node.value as { cooked: string }).cooked] : [],
    )
    assert.ok(
      texts.some((text) => changedIn(text).includes(table)),
      path,
    )
  }
})

test('a change of state elsewhere is named by file and line', () => {
  const bad = `async function change(tx: Tx, ids: string[]) {
    await tx\`update orders set due_at = now() where state = 'new' and id = any(\${ids})\`
    await tx\`update orders set tries = 0, state = 'failed' where id = any(\${ids})\`
    tx.send\`
      with gone as (update deposit as d set state = 'gone' where state = 'seen' returning 1)
      insert into attempt (id) select 1 from gone\`
    await tx\`UPDATE ONLY orders o SET (tries, state, tx_id) = (0, 'new', null)\`
    await tx\`delete from activation\`
  }`
  assert.deepEqual(changedElsewhere(parseSource(`${SRC}/market/delivery.ts`, bad)), [
    `${SRC}/market/delivery.ts:3 changes orders`,
    `${SRC}/market/delivery.ts:4 changes deposit`,
    `${SRC}/market/delivery.ts:4 changes attempt`,
    `${SRC}/market/delivery.ts:7 changes orders`,
    `${SRC}/market/delivery.ts:8 changes activation`,
  ])
  assert.deepEqual(changedElsewhere(parseSource(`${SRC}/market/orders/orders.ts`, bad)).length, 3)
})
