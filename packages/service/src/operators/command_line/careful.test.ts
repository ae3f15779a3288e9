// Which of the operations that change something want a proof that the operator is there: all of
// them, written down by hand. One that is new has to be put into one of the two lists, by somebody
// who asks what it could do in the hands of a stranger at an unlocked screen.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OPERATIONS } from '../operations.ts'

/** They move money, or let somebody spend, sign, sell or be sold to who could not before. */
const CAREFUL = `
  customers create, customers suspend, customers resume, customers close, customers limits
  customers credit, customers debit, invoices reissue, deposits resolve, deposits recount
  approvals set, approvals give, approvals allow, treasury collect, treasury adopt, votes set
  keys issue, keys change, keys rotate, keys reseal, receipts rotate
  pool capital, price-rules set, treasury energy
  prices set, prices remove, fees set, plans set, plans remove, services on, signer go
  lists update, lists import, lists revert, lists make, lists schedule, aml publish
  aml allow, aml withdraw
  webhooks add, webhooks rotate, webhooks allow
  users invite, users change, users recover, users remove, sessions end
  customers export, customers erase, users export, users erase
  operators invite, operators change, operators recover, operators remove
  database accept, restore begin, restore reconcile, roles apply
  brand set, aml revoke-deposit`

/** They take something away, which must be quick; or change only what is told or shown; or can be
 *  put back as quickly, with both in the record. */
const QUICK = `
  services off, signer stop, keys revoke, subscriptions stop
  webhooks enable, webhooks disable, webhooks remove, webhooks deny
  aml deny, aml watch, aml import-watches, aml unwatch, aml reviews decide
  aml cases open, aml cases assign, aml cases wait, aml cases escalate, aml cases set
  aml cases add, aml cases note, aml cases attach, aml cases close, aml cases reopen
  aml backfill, aml import-log, aml rebuild
  aml keep-counterparties, aml forget-counterparties, archive begin, archive end
  archive mend
  offers set, events set, alerts seen, customers note
  incidents post, incidents update, incidents close, status-page set`

const named = (list: string) =>
  list
    .trim()
    .split(/,|\n/)
    .map((words) => words.trim())
    .sort()

test('every operation that changes something is known to be careful or quick', () => {
  const changing = OPERATIONS.filter(({ changes, local }) => changes && !local)
  const wordsOf = (careful: boolean) =>
    changing
      .filter((one) => one.careful === careful)
      .map(({ cli }) => cli.words)
      .sort()
  assert.deepEqual(wordsOf(true), named(CAREFUL), 'careful')
  assert.deepEqual(wordsOf(false), named(QUICK), 'quick')
  const looking = OPERATIONS.filter(({ changes, careful }) => careful && !changes)
  assert.deepEqual(looking, [], 'what only looks wants no proof')
})
