import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../harness/database.ts'
import { grantsOf, otherRights } from '../harness/grants.ts'
import { opinionsMissing } from './grant_opinions.ts'
import { closePlace, openPlace, tryGrants } from './grants.ts'

test('there is an opinion on whatever the roles of the API and of workers may write', async (t) => {
  const { sql } = await freshDatabase(t)
  assert.deepEqual(opinionsMissing(await grantsOf(sql)), [])
  assert.deepEqual(await otherRights(sql), [])
  await sql`grant insert on price to penstock_api`
  await sql`grant update (accepted_at) on books_finding to penstock_worker`
  await sql`grant truncate on transfer to public`
  await sql`revoke update on pool from penstock_worker`
  const nothing = 'and the opinion is on nothing'
  const missing = opinionsMissing(await grantsOf(sql))
  assert.ok(missing.includes(`penstock_api price: insert is granted, ${nothing}`))
  assert.ok(missing.includes(`penstock_read transfer: truncate is granted, ${nothing}`))
  assert.deepEqual(
    missing.map((text) => text.split(':')[0]).filter((key) => !key!.startsWith('penstock_read')),
    [
      'penstock_api price',
      'penstock_api transfer',
      'penstock_worker books_finding',
      'penstock_worker pool',
      'penstock_worker transfer',
    ],
  )
  // A membership is the server's, which other tests use meanwhile: they never see it.
  const taken_back = new Error('taken back')
  const granting = sql.begin(async (tx) => {
    await tx`grant penstock_admin to penstock_read`
    assert.ok((await otherRights(tx)).some(({ right }) => right === 'be penstock_admin'))
    throw taken_back
  })
  await assert.rejects(granting, taken_back)
})

test('what a grant too many would be worth is found by trying it', async () => {
  const place = await openPlace({ examples: false })
  try {
    const { sql } = place.world
    await sql`grant update (price_sun) on price to penstock_api`
    const { findings } = await tryGrants(place, { only: 'price' })
    const nothing = 'and the opinion is on nothing'
    assert.ok(findings.includes(`penstock_api price: update of price_sun is granted, ${nothing}`))
    assert.ok(
      findings.some((text) => /^penstock_api price, .* = 1: .*sold for 20000 sun/.test(text)),
    )
  } finally {
    await closePlace(place)
  }
})
