import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { columnsOf } from './columns.ts'

type Half = { name: string; sha256: string }
const HALF = columnsOf<Half>()(['name', 'sha256'])

test('a list of columns is written out, of a table where it stands after its name', async (t) => {
  const { sql } = await freshDatabase(t)
  const look = (number: number) => sql<Half & { twice: number }>`
    select m.${HALF}, ${number}::int * 2 as twice from migration as m where number = ${number}`
  const [first] = await look(1)
  assert.deepEqual(Object.keys(first!), ['name', 'sha256', 'twice'])
  assert.deepEqual([first?.name, first?.twice], ['ledger', 2])
  // The statement is prepared by then; its values are others.
  assert.equal((await look(2))[0]?.twice, 4)
  const both = await sql`select ${HALF} from (select ${HALF} from migration limit 2) as m`
  assert.deepEqual(Object.keys(both[1]!), ['name', 'sha256'])
})

test('a list that lacks a field of the row does not compile', () => {
  // @ts-expect-error sha256 is missing
  const short = columnsOf<Half>()(['name'])
  // @ts-expect-error there is no such field
  const wrong = columnsOf<Half>()(['name', 'sha256', 'other'])
  assert.equal(short.text('m'), 'm.name')
  assert.equal(wrong.text(), 'name, sha256, other')
})
