// The proof of an order, for auditors: made of the rows of the service, and checked without them.

import { Type } from 'typebox'
import { readRoots } from '../../ledger/accounts/roots.ts'
import { refusal } from '../../lib/fault.ts'
import { printJson } from '../../lib/json.ts'
import { requireOrder } from '../../market/orders/order_lookup.ts'
import { checkProof, readProof } from '../../market/receipts/proof_checking.ts'
import { ProofForm, proofOf } from '../../market/receipts/proofs.ts'
import { Count, Flag, ListOf, optional, Text, text } from '../../platform/wire/schemas.ts'
import { local, look } from '../table/operation.ts'

export const proofOperations = [
  look({
    path: '/operator/orders/prove',
    summary: 'one order from purchase to reclaim, as one document that verifies without us',
    description:
      'With --json it is the document that `orders verify` checks. It has the entries of other ' +
      'customers in the same seals: it is for auditors. Its root counts when the day is over.',
    body: Type.Object({ order: text('ORDER', "its id, or the customer's own id for it") }),
    reply: ProofForm,
    cli: { operands: ['order'], text: (proof) => `${printJson(proof)}\n` },
    async handle({ sql, clock, body, ...needs }) {
      const order = await requireOrder(sql, body.order)
      return { value: await proofOf({ sql, clock, seal: await needs.seal() }, order) }
    },
  }),
  local({
    path: '/operator/orders/verify',
    summary: 'whether the proof of an order is right: without a database, without the service',
    description:
      'With --roots-file it must end in a root that was noted, with --keys-file one of those ' +
      'keys must have signed it; without them the document is only held against itself. The exit ' +
      'code is 1 when something is wrong. `receipts verify` asks a node about the transactions.',
    body: Type.Object({
      proof: text('PROOF', 'the proof, as text'),
      roots: optional(text('ROOTS', 'roots, as text')),
      keys: optional(text('KEYS', 'a JSON Web Key Set, as text')),
    }),
    reply: Type.Object({
      order_id: Text,
      state: Text,
      seals: Count,
      entries: Count,
      transactions: Count,
      noted_root: Flag,
      kept_keys: Flag,
      findings: ListOf({ part: Text, found: Text }),
    }),
    cli: {
      operands: ['file'],
      extras: Type.Object({
        file: text('FILE', 'the proof, as `orders prove --json` prints it'),
        roots_file: optional(text('FILE', 'roots, as `books roots --export` writes them')),
        keys_file: optional(text('FILE', 'the public keys, kept from /.well-known/jwks.json')),
      }),
      filled: ['proof', 'roots', 'keys'],
      async before({ file, roots_file, keys_file }, { readFile }) {
        return {
          proof: await readFile(file),
          ...(roots_file !== undefined && { roots: await readFile(roots_file) }),
          ...(keys_file !== undefined && { keys: await readFile(keys_file) }),
        }
      },
    },
    async handle({ body }) {
      const proof = await readProof(body.proof)
      const findings = await checkProof(proof, {
        keys: body.keys === undefined ? undefined : parsed(body.keys),
        roots: body.roots === undefined ? undefined : readRoots(body.roots),
      })
      const { order_id, receipt, seals, transactions } = proof
      const ok = findings.length === 0
      const own = body.roots === undefined ? ' The root is its own word: --roots-file.' : ''
      return {
        value: {
          order_id,
          state: receipt.state,
          seals: seals.length,
          entries: seals.reduce((sum, { entries }) => sum + entries.length, 0),
          transactions: transactions.length,
          noted_root: body.roots !== undefined,
          kept_keys: body.keys !== undefined,
          findings,
        },
        note: ok ? `Everything in it agrees.${own}` : 'It was altered, or is not whole.',
        ok,
      }
    },
  }),
]

/** Throws Refused. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    throw refusal('The set of public keys is not JSON.')
  }
}
