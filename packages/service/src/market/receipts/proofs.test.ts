// The proof of an order on rows written by hand: which seals it has, and what is found of one that
// was altered, part by part.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ReceiptBook } from 'penstock-test/harness/receipt_book.ts'
import { withoutTriggers } from 'penstock-test/harness/without_triggers.ts'
import type { Root } from '../../ledger/accounts/roots.ts'
import { type SealedEntry, sumOfSeal } from '../../ledger/accounts/seals.ts'
import { systemRandom } from '../../lib/ids.ts'
import { printJson } from '../../lib/json.ts'
import { checkProof, readProof } from './proof_checking.ts'
import { type Proof, proofOf } from './proofs.ts'
import { receiptSigner } from './routes.ts'
import { makeSigningKey } from './signing_keys.ts'

const day = (text: string) => new Date(`2026-10-${text}Z`)

/** An order whose hold and capture are in the seals 2 and 3, of the days 8 and 9; seal 4 is of the
 *  last moment of day 9, and seal 5 of the first of day 10. */
async function sealedBook(t: TestContext): Promise<ReceiptBook> {
  const book = await ReceiptBook.of(t)
  await book.sealAt(day('08T10:00:00'))
  await book.order('o1')
  await book.part('e1', { state: 'ended', attempt: 'solid', reclaim: 'solid' })
  await book.sealAt(day('08T11:00:00'))
  await book.charge('o1')
  await book.order('o2')
  await book.sealAt(day('09T00:00:00'))
  await book.order('o3')
  await book.order('o4')
  await book.sealAt(day('09T23:59:59.999'))
  await book.order('o5')
  await book.sealAt(day('10T00:00:00'))
  return book
}

const prove = async (book: ReceiptBook, id = 'o1'): Promise<Proof> =>
  JSON.parse(printJson(await proofOf(book, await book.read(id)))) as Proof

const numbersOf = ({ seals, root }: Proof) => [seals.map(({ number }) => number), root.number]

test('a proof goes from the seal of the first entry to the last seal of the day', async (t) => {
  const book = await sealedBook(t)
  const proof = await prove(book)
  assert.deepEqual(numbersOf(proof), [[2, 3, 4], 4])
  const [seal] = await book.sql<{ sha256: string }>`select sha256 from journal where number = 1`
  assert.equal(proof.previous_sha256, seal!.sha256)
  assert.deepEqual([proof.root.day, proof.root.last_entry], ['2026-10-09', 6])
  assert.deepEqual(
    proof.seals.map(({ entries }) => entries.map(({ number }) => number)),
    [[2], [3, 4], [5, 6]],
  )
  assert.deepEqual(await checkProof(proof, {}), [])
  // The first moment of a day is of that day, when nothing comes after it, too.
  await withoutTriggers(book.sql, async (tx) => {
    await tx`delete from journal where number > 3`
  })
  assert.deepEqual(numbersOf(await prove(book)), [[2, 3], 3])
  // A seal is of the day that its own clock says.
  await book.sealAt(day('08T12:00:00'))
  assert.deepEqual(numbersOf(await prove(book)), [[2, 3], 3])
})

test('a proof has the transactions and the key of its own receipt alone', async (t) => {
  const book = await sealedBook(t)
  await book.part('other', { order: 'o2' })
  await book.sql`update signing_key set retired_at = now(), sealed_private_key = null`
  const made = await makeSigningKey(book.sql, { ...book, random: systemRandom })
  const { keys, transactions, receipt } = await prove(book)
  assert.deepEqual(
    keys.map(({ kid }) => kid),
    [made!.id],
  )
  const [part] = receipt.parts
  assert.deepEqual(
    transactions.map(({ hash }) => hash).toSorted(),
    [part!.hash, part!.reclaim_hash].toSorted(),
  )
})

test('what is not delivered, or not sealed, or far from its root has no proof', async (t) => {
  const book = await sealedBook(t)
  await assert.rejects(prove(book, 'o2'), /Order o2 is not delivered: there is nothing to prove/)
  await book.sql`update orders set state = 'pending' where id = 'o1'`
  await assert.rejects(prove(book), /Order o1 is not delivered/)
  await book.order('o6')
  await book.part('e6', { order: 'o6' })
  await book.order('o7', { is_held: false })
  await book.part('e7', { order: 'o7' })
  await assert.rejects(prove(book, 'o7'), /A subscription placed it and pays for it/)
  await assert.rejects(prove(book, 'o6'), /not sealed yet/)
  await book.sql`update orders set state = 'success' where id = 'o1'`
  // Of the seals 2 to 4, with those that they have; and of the one after them.
  const setEntries = (number: number, entries: number) =>
    withoutTriggers(
      book.sql,
      (tx) => tx`
        update journal set entries = ${entries}, last_entry = first_entry + ${entries}
        where number = ${number}`,
    )
  await setEntries(5, 100_000)
  await setEntries(4, 99_997)
  assert.equal((await prove(book)).root.number, 4)
  await setEntries(4, 99_998)
  await assert.rejects(prove(book), /are 100001 entries, more than 100000/)
})

/** The seals with sums of what they say by now, the receipt with that of its own, and the root with
 *  the last; the receipt is signed anew, as only the service can. */
async function rewritten(book: ReceiptBook, proof: Proof, forge: (proof: Proof) => unknown) {
  const forged = structuredClone(proof)
  forge(forged)
  let before = forged.previous_sha256
  for (const seal of forged.seals) {
    const rows = seal.entries.map(
      (entry): SealedEntry => ({
        ...entry,
        number: BigInt(entry.number),
        amount_sun: BigInt(entry.amount_sun),
      }),
    )
    const [first_entry, last_entry] = [BigInt(seal.first_entry), BigInt(seal.last_entry)]
    const numbers = { number: BigInt(seal.number), first_entry, last_entry }
    const counts = { actions: BigInt(seal.actions), entries: BigInt(rows.length) }
    seal.sha256 = sumOfSeal(before, { ...seal, ...numbers, ...counts }, rows)
    before = seal.sha256
    if (forged.receipt.seal?.number === seal.number) forged.receipt.seal.sha256 = seal.sha256
  }
  if (forged.root.number === forged.seals.at(-1)?.number) forged.root.sha256 = before
  forged.jws = await receiptSigner(book)(printJson(forged.receipt))
  return forged
}

const found = async (proof: Proof, roots?: Root[]) =>
  (await checkProof(proof, { roots })).map(({ part, found }) => `${part}: ${found}`)

const NOT_ITS_SUM = 'its sum is not that of its entries'
const OTHER_ENTRIES = 'entries: those of the receipt are others'
const NO_SEAL = 'seal: that of the receipt is not here'
const OTHER_ROOT = 'root: the last seal is another'
const NOT_ITS_OWN = 'transactions: they are not its own'

test('seals with sums of their own are refused where one does not follow another', async (t) => {
  const book = await sealedBook(t)
  const proof = await prove(book)
  const rows: [what: string, forge: (proof: Proof) => unknown, findings: string[]][] = [
    ['nothing', () => {}, []],
    ['a gap between entries', ({ seals }) => seals[2]!.first_entry++, [`seal 4: ${NOT_ITS_SUM}`]],
    ['an entry twice', ({ seals }) => seals[2]!.first_entry--, [`seal 4: ${NOT_ITS_SUM}`]],
    [
      'a seal that was left out',
      ({ seals, root }) => (root.number = ++seals[2]!.number),
      [`seal 5: ${NOT_ITS_SUM}`],
    ],
    [
      'a number twice',
      ({ seals, root }) => (root.number = --seals[2]!.number),
      [`seal 3: ${NOT_ITS_SUM}`, NO_SEAL],
    ],
    ['the first number', ({ seals }) => (seals[0]!.number = 1), [`seal 3: ${NOT_ITS_SUM}`]],
    ['its first entry', ({ seals }) => seals[0]!.first_entry++, []],
  ]
  for (const [what, forge, findings] of rows)
    assert.deepEqual(await found(await rewritten(book, proof, forge)), findings, what)
  const other = structuredClone(proof)
  other.seals[1]!.entries[1]!.amount_sun += 1
  assert.deepEqual(await found(other), [`seal 3: ${NOT_ITS_SUM}`])
})

test('a receipt has the sealed entries of its order, all of them and no others', async (t) => {
  const book = await sealedBook(t)
  const proof = await prove(book)
  const rows: [what: string, forge: (proof: Proof) => unknown, findings: string[]][] = [
    ['one too few', ({ receipt }) => receipt.entries.pop(), [OTHER_ENTRIES]],
    ['one too many', ({ receipt }) => receipt.entries.push(receipt.entries[0]!), [OTHER_ENTRIES]],
    ['another kind', ({ receipt }) => (receipt.entries[1]!.kind = 'release'), [OTHER_ENTRIES]],
    ['one more is sealed', ({ seals }) => (seals[2]!.entries[0]!.id = 'order:o1'), [OTHER_ENTRIES]],
    [
      'one more of its hold is sealed',
      ({ seals }) => (seals[2]!.entries[0]!.hold_id = 'order:o1'),
      [OTHER_ENTRIES],
    ],
    ['another seal', ({ receipt }) => (receipt.seal = { number: 3, sha256: '0' }), []],
    ['a seal of earlier', ({ receipt }) => (receipt.seal!.number = 1), [NO_SEAL]],
    ['no seal', ({ receipt }) => (receipt.seal = null), [NO_SEAL]],
  ]
  for (const [what, forge, findings] of rows)
    assert.deepEqual(await found(await rewritten(book, proof, forge)), findings, what)
  const other = structuredClone(proof)
  other.receipt.seal!.sha256 = '0'.repeat(64)
  other.jws = await receiptSigner(book)(printJson(other.receipt))
  assert.deepEqual(await found(other), [NO_SEAL])
})

test('a receipt is what was signed, of the order that is proven', async (t) => {
  const book = await sealedBook(t)
  const proof = await prove(book)
  const changed = structuredClone(proof)
  changed.receipt.service = 'Another'
  assert.deepEqual(await found(changed), ['receipt: it is not what was signed'])
  const of_other = { ...proof, order_id: 'o2' }
  assert.deepEqual(await found(of_other), ['receipt: it is of another order', OTHER_ENTRIES])
  const [first] = await found({ ...proof, keys: [] })
  assert.match(String(first), /^receipt: This is no receipt of the service: no applicable key/)
  assert.deepEqual(await checkProof(proof, { keys: { keys: proof.keys } }), [])
  assert.equal((await checkProof(proof, { keys: { keys: [] } })).length, 1)
})

test('the transactions are those of the receipt, each of them once', async (t) => {
  const book = await sealedBook(t)
  const proof = await prove(book)
  const [one, two] = proof.transactions as [Proof['transactions'][0], Proof['transactions'][0]]
  const other = { hash: '0'.repeat(64), raw_data_hex: '' }
  const missing = ({ hash }: { hash: string }) => `transaction ${hash}: its bytes are not there`
  const rows: [transactions: Proof['transactions'], findings: string[]][] = [
    [[two, one], []],
    [[one], [missing(two), NOT_ITS_OWN]],
    [
      [one, one],
      [missing(two), NOT_ITS_OWN],
    ],
    [[one, two, one], [NOT_ITS_OWN]],
    [[one, two, other], [NOT_ITS_OWN]],
    [[one, other], [missing(two)]],
    [[{ ...one, raw_data_hex: two.raw_data_hex }, two], [missing(one)]],
  ]
  for (const [transactions, findings] of rows)
    assert.deepEqual(await found({ ...proof, transactions }), findings)
})

test('the root is the last seal to the letter, and the one that was noted', async (t) => {
  const book = await sealedBook(t)
  const proof = await prove(book)
  const { root } = proof
  const rows: [Partial<Proof['root']>][] = [
    [{ number: 5 }],
    [{ last_entry: 7 }],
    [{ sha256: '0'.repeat(64) }],
    [{ day: '2026-10-08' }],
  ]
  for (const [other] of rows)
    assert.deepEqual(await found({ ...proof, root: { ...root, ...other } }), [OTHER_ROOT])
  assert.deepEqual((await found({ ...proof, seals: [] })).at(-1), OTHER_ROOT)
  const noted = (number: number, sha256 = root.sha256): Root => ({
    day: root.day,
    number: BigInt(number),
    last_entry: 6n,
    sha256,
  })
  assert.deepEqual(await found(proof, [noted(3, 'x'), noted(4)]), [])
  assert.deepEqual(await found(proof, []), ['root: seal 4 of 2026-10-09 was not noted'])
  assert.deepEqual(await found(proof, [noted(3)]), ['root: seal 4 of 2026-10-09 was not noted'])
  assert.deepEqual(await found(proof, [noted(4, 'x')]), [
    `root: it was noted as x, and is ${root.sha256}`,
  ])
})

test('a proof is read as it is written, with blanks between its parts or without', async (t) => {
  const book = await sealedBook(t)
  const proof = await prove(book)
  const text = JSON.stringify(proof)
  assert.deepEqual(await readProof(text), proof)
  assert.deepEqual(await readProof(JSON.stringify(proof, null, 2)), proof)
  // The same letter may be written in two ways.
  assert.deepEqual(await readProof(text.replace('Penstock', '\\u0050enstock')), proof)
  await assert.rejects(readProof(text.slice(1)), /It is not JSON/)
  await assert.rejects(readProof(text.replace('"proof":1', '"proof":1.0')), /a field twice, or/)
  await assert.rejects(readProof(text.replace('{', '{"proof":2,')), /a field twice, or/)
  await assert.rejects(readProof(text.replace('"proof":1', '"proof":2')), /no proof of a form/)
})
