// Whether the proof of an order is right. It knows nothing but the document, and the roots and the
// public keys that somebody has kept elsewhere: without those it shows that the document agrees
// with itself, and that a key in it has signed it.

import type { Root } from '../../ledger/accounts/roots.ts'
import { type SealedEntry, sumOfSeal } from '../../ledger/accounts/seals.ts'
import { Refused, refusal } from '../../lib/fault.ts'
import { printJson, sunOf } from '../../lib/json.ts'
import { type Proof, ProofForm } from './proofs.ts'
import type { Receipt } from './receipts.ts'
import { claimsOf, verifyReceipt, wrongContents } from './verifying.ts'

/** What is wrong with a part of a proof: `seal 12`, `root`, `transaction HASH`. */
export type ProofFinding = { part: string; found: string }

/** What was kept elsewhere; left out: the proof's own word is taken. */
export type Reference = { keys?: unknown; roots?: readonly Root[] | undefined }

/** Reads a proof. Throws Refused when it is none. */
export async function readProof(text: string): Promise<Proof> {
  const { Check } = await import('typebox/schema')
  const given = parsed(text)
  if (!Check(ProofForm, given)) throw refusal('It is no proof of a form that is known here.')
  return given
}

/** Throws Refused for what others may read otherwise: a field that is there twice, a number that
 *  has more digits than are kept of it. */
function parsed(text: string): unknown {
  try {
    const given = JSON.parse(text)
    const read = text.replace(/"(?:[^"\\]|\\.)*"|\s+/g, (part) =>
      part.startsWith('"') ? JSON.stringify(JSON.parse(part)) : '',
    )
    if (read === JSON.stringify(given)) return given
  } catch {
    throw refusal('It is not JSON.')
  }
  throw refusal('It has a field twice, or a number that cannot be read as it is written.')
}

/** Everything that is wrong with a proof. */
export async function checkProof(proof: Proof, reference: Reference): Promise<ProofFinding[]> {
  return [
    ...(await receiptFindings(proof, reference.keys ?? { keys: proof.keys })),
    ...transactionFindings(proof),
    ...sealFindings(proof),
    ...entryFindings(proof),
    ...rootFindings(proof, reference.roots),
  ]
}

async function receiptFindings(proof: Proof, keys: unknown): Promise<ProofFinding[]> {
  const part = 'receipt'
  try {
    const { receipt } = await verifyReceipt(proof.jws, keys)
    if (printJson(receipt) !== printJson(proof.receipt))
      return [{ part, found: 'it is not what was signed' }]
    return receipt.order.id === proof.order_id ? [] : [{ part, found: 'it is of another order' }]
  } catch (thrown) {
    if (thrown instanceof Refused) return [{ part, found: thrown.message }]
    throw thrown
  }
}

/** Each transaction that the receipt names is there once, and does what the receipt says. */
function transactionFindings({ receipt, transactions }: Proof): ProofFinding[] {
  const claims = claimsOf(receipt)
  const bytes = new Map(transactions.map(({ hash, raw_data_hex }) => [hash, raw_data_hex]))
  const count = new Set(claims.map(({ hash }) => hash)).size
  const wrong = claims.flatMap((claim) => {
    const found = wrongContents(claim, bytes.get(claim.hash))
    return found === null ? [] : [{ part: `transaction ${claim.hash}`, found }]
  })
  const others = transactions.length !== count || bytes.size !== count
  return others ? [...wrong, { part: 'transactions', found: 'they are not its own' }] : wrong
}

/** Each seal follows the one before, and its sum is that of its entries. */
function sealFindings({ seals, previous_sha256 }: Proof): ProofFinding[] {
  return seals.flatMap((seal, i) => {
    const before = seals[i - 1]
    const follows =
      !before || (seal.number === before.number + 1 && seal.first_entry === before.last_entry + 1)
    return follows && sumOf(before?.sha256 ?? previous_sha256, seal) === seal.sha256
      ? []
      : [{ part: `seal ${seal.number}`, found: 'its sum is not that of its entries' }]
  })
}

function sumOf(previous: string, { entries, ...seal }: Proof['seals'][number]): string {
  const row = {
    ...seal,
    number: BigInt(seal.number),
    first_entry: BigInt(seal.first_entry),
    last_entry: BigInt(seal.last_entry),
    actions: BigInt(seal.actions),
    entries: BigInt(entries.length),
  }
  const rows = entries.map(
    (entry): SealedEntry => ({
      ...entry,
      number: BigInt(entry.number),
      amount_sun: BigInt(entry.amount_sun),
    }),
  )
  return sumOfSeal(previous, row, rows)
}

/** The entries of the order among those that are sealed are those of its receipt. */
function entryFindings({ receipt, seals, order_id }: Proof): ProofFinding[] {
  const hold = `order:${order_id}`
  const own = seals
    .flatMap(({ entries }) => entries)
    .filter(({ id, hold_id }) => id === hold || hold_id === hold)
  const sealed = own.map(({ number, id, kind, amount_sun }) =>
    JSON.stringify([number, id, kind, String(amount_sun)]),
  )
  const said = receipt.entries.map(printEntry)
  const is_same = sealed.length === said.length && said.every((one) => sealed.includes(one))
  const findings = is_same ? [] : [{ part: 'entries', found: 'those of the receipt are others' }]
  const seal = seals.find(({ number }) => number === receipt.seal?.number)
  return seal && seal.sha256 === receipt.seal?.sha256
    ? findings
    : [...findings, { part: 'seal', found: 'that of the receipt is not here' }]
}

const printEntry = ({ number, id, kind, amount }: Receipt['entries'][number]): string =>
  JSON.stringify([number, id, kind, String(sunOf(String(amount)))])

/** The last seal is the root, and the one that was noted. */
function rootFindings({ seals, root }: Proof, noted?: readonly Root[]): ProofFinding[] {
  const last = seals.at(-1)
  const is_last =
    last !== undefined &&
    last.number === root.number &&
    last.last_entry === root.last_entry &&
    last.sha256 === root.sha256 &&
    last.sealed_at.startsWith(root.day)
  const part = 'root'
  if (!is_last) return [{ part, found: 'the last seal is another' }]
  if (noted === undefined) return []
  const found = noted.find(({ number }) => Number(number) === root.number)
  if (!found) return [{ part, found: `seal ${root.number} of ${root.day} was not noted` }]
  return found.sha256 === root.sha256
    ? []
    : [{ part, found: `it was noted as ${found.sha256}, and is ${root.sha256}` }]
}
