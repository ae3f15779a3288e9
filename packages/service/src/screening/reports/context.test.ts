// The context of a report, read from rows, and how a signed report is verified.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CompactSign, exportJWK, generateKeyPair } from 'jose'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { publishLabels } from 'penstock-test/harness/labels.ts'
import { addressFromBytes } from 'penstock-tron/address.ts'
import { readLevels, readReportContext } from './context.ts'
import { REPORT_TYPE, signReport, verifyReport } from './signed.ts'

const at = new Date('2026-11-01T00:00:00Z')
const address = addressFromBytes(Uint8Array.of(0x41, ...new Uint8Array(20).fill(1)))
const evidenceOf = (facts: object, check_id = 'none') =>
  ({ check_id, canonical: JSON.stringify(facts), sha256: 'f' }) as Parameters<
    typeof readReportContext
  >[1]

test('a context has the lists and the policy that its evidence names', async (t) => {
  const { sql } = await freshDatabase(t)
  await publishLabels(sql, [{ address, category: 'mixer' }], { at })
  await publishLabels(sql, [{ address, category: 'scam' }], { at, list: 'tagpacks' })
  const of = async (facts: object) => {
    const { lists, policy, levels, asked_by } = await readReportContext(sql, evidenceOf(facts))
    assert.equal(asked_by, undefined)
    return [lists?.map(({ list }) => list).join(), policy?.version, levels?.high_from]
  }
  assert.deepEqual(await of({}), ['', undefined, undefined])
  const policy = { version: '1' }
  const [lists, version, high] = await of({ label_set: '1', policy })
  assert.deepEqual([lists, version, typeof high], ['operator', 1, 'number'])
  assert.equal((await of({ label_set: '2' }))[0], 'operator,tagpacks')
  const facts = { label_set: '1', policy }
  const answers = [
    { name: 'amlbot', facts: { label_set: '2', policy: { version: '99' } } },
    { name: 'embedded', facts },
  ]
  assert.deepEqual(await of({ answers }), ['operator', 1, high])
  assert.deepEqual(await of({ policy: { version: '99' } }), ['', undefined, undefined])
  const source = (await readReportContext(sql, evidenceOf(facts))).lists![0]!
  assert.deepEqual(
    [source.title, source.licence, source.origin, source.entries],
    ["The operator's own labels", 'own', 'test', 1],
  )
  assert.equal((await readLevels(sql, evidenceOf(facts)))?.high_from, high)
  assert.deepEqual(Object.keys((await readLevels(sql, evidenceOf(facts)))!), [
    'medium_from',
    'high_from',
  ])
  assert.equal(await readLevels(sql, evidenceOf({})), undefined)
  assert.equal(await readLevels(sql, evidenceOf({ policy: { version: '99' } })), undefined)
})

async function signing() {
  const { publicKey, privateKey } = await generateKeyPair('EdDSA')
  const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k', alg: 'EdDSA' }] }
  const signAs = (typ: string) => (payload: string) =>
    new CompactSign(Buffer.from(payload))
      .setProtectedHeader({ alg: 'EdDSA', kid: 'k', typ })
      .sign(privateKey)
  return { keys, signAs }
}

test('a signed report is as it was signed, or names the part that is not', async () => {
  const { keys, signAs } = await signing()
  const subject = { kind: 'check', id: 'c', issued_at: 'now' }
  const parts = [
    { name: 'page', page: '<p>page</p>\n' },
    { name: 'evidence-c', text: '{"a":1}' },
  ]
  const file = await signReport(subject, parts, signAs(REPORT_TYPE))
  const { manifest, key_id, findings } = await verifyReport(file, keys)
  assert.deepEqual([manifest.id, key_id, findings], ['c', 'k', []])
  assert.deepEqual(
    manifest.parts.map(({ name, text_sha256 }) => [name, text_sha256 === null]),
    [
      ['page', true],
      ['evidence-c', false],
    ],
  )
  assert.ok(file.includes('<!--part evidence-c-->\n<!--eyJhIjoxfQ==-->\n<!--seal '))
  const found = async (changed: string) =>
    (await verifyReport(changed, keys)).findings.map(({ part }) => part).join()
  assert.equal(await found(file.replace('<p>page', '<p>pagf')), 'page')
  assert.equal(await found(file.replace('eyJhIjox', 'eyJhIjoy')), 'evidence-c')
  assert.equal(await found(file.replace('<!--seal', 'x<!--seal')), 'seal')
  const refused = (text: string, why: RegExp) => assert.rejects(verifyReport(text, keys), why)
  await refused('', /does not end with one/)
  await refused(`${file}x`, /does not end with one/)
  // Another letter for the same bytes: the signature would be right.
  const letters: Record<string, string> = { A: 'B', Q: 'R', g: 'h', w: 'x' }
  const respelt = file.replace(/(.)-->\n$/, (_, last: string) => `${letters[last]}-->\n`)
  await refused(respelt, /three parts in base64url/)
  await refused(await signReport(subject, parts, signAs('other')), /it is signed as other/)
  const odd = signReport({ ...subject, id: 5 as never }, parts, signAs(REPORT_TYPE))
  await refused(await odd, /of a form that is not known here/)
  const others = (await signing()).keys
  await assert.rejects(verifyReport(file, others), /The seal is wrong: /)
})
