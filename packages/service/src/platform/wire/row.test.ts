import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { Type } from 'typebox'
import { picked, type RowOf, row } from './row.ts'
import { Text, Whole } from './schemas.ts'

const Migration = row({ number: Whole, name: Text, sha256: Text })

test('a row gives the columns that are read and the fields that are replied', async (t) => {
  const { sql } = await freshDatabase(t)
  const [first] = await sql<RowOf<typeof Migration>>`
    select ${Migration.columns} from migration where number = 1`
  assert.deepEqual(Object.keys(first!), ['number', 'name', 'sha256'])
  const Reply = Type.Object({ ...Migration.pick('name', 'number'), more: Text })
  const reply = picked(Reply, { ...first!, more: 'x' })
  assert.deepEqual(Object.entries(reply), [
    ['name', 'ledger'],
    ['number', first!.number],
    ['more', 'x'],
  ])
})
