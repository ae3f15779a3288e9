// Rows that are just inside and just outside of the rules about what was collected and what votes
// have earned: each wrong one is named, and none that is right.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BareRows, bareTables } from 'penstock-test/harness/bare_tables.ts'
import { BEFORE, entryRows, foundIn, SINCE, scopeFrom } from 'penstock-test/harness/books_rows.ts'
import { wrongCollections, wrongRewards } from './treasury_rules.ts'

const transfers = (rows: BareRows['rows']): BareRows => ({
  table: 'collection_transfer',
  columns: 'tx_id state token moved fee_sun ended_at',
  rows: rows.map((row) => [...row, ...[SINCE].slice(row.length - 5)]),
})
const outflows = (rows: BareRows['rows']): BareRows => ({
  table: 'deposit_outflow',
  columns: 'tx_id amount_sun fee_sun',
  rows,
})
const [COLLECTED, FEES] = ['treasury:collected', 'treasury:fees']

test('what was collected is booked once, as it left, and nothing else is', async (t) => {
  const sql = await bareTables(t, [
    transfers([
      ['right', 'collected', null, 1, 1],
      ['made', 'made', null, 5, 5],
      ['failed', 'failed', null, 0, 0],
      ['token', 'collected', 'usdt', 7, 2],
      ['unbooked', 'collected', null, 1, 1],
      ['failed-fee', 'failed', null, 0, 1],
      ['more', 'collected', null, 1, 0],
      ['kind', 'collected', null, 1, 0],
      ['credit', 'collected', null, 1, 0],
      ['debit', 'collected', null, 1, 0],
      ['left', 'collected', null, 1, 0],
      ['left-fee', 'collected', null, 1, 1],
      ['stayed', 'collected', null, 1, 0],
    ]),
    outflows([
      ['right', 1, 1],
      ['unbooked', 1, 1],
      ['failed-fee', 0, 1],
      ['more', 1, 0],
      ['kind', 1, 0],
      ['credit', 1, null],
      ['debit', 1, 0],
      ['left', 2, 0],
      ['left-fee', 1, 2],
    ]),
    entryRows([
      [1, 'collected:right', COLLECTED, 'world', 1],
      [2, 'collected:right/fee', FEES, 'world', 1],
      [3, 'collected:token/fee', FEES, 'world', 2],
      [4, 'collected:failed-fee/fee', FEES, 'world', 1],
      [5, 'collected:more', COLLECTED, 'world', 2],
      [6, 'collected:kind', COLLECTED, 'world', 1, 'hold'],
      [7, 'collected:credit', COLLECTED, 'revenue', 1],
      [8, 'collected:debit', FEES, 'world', 1],
      [9, 'collected:left', COLLECTED, 'world', 1],
      [10, 'collected:left-fee', COLLECTED, 'world', 1],
      [11, 'collected:left-fee/fee', FEES, 'world', 1],
      [12, 'collected:stayed', COLLECTED, 'world', 1],
      [13, 'collected:nothing', 'a', 'b', 1],
      [14, 'to-collected', COLLECTED, 'b', 1],
      [15, 'to-fees', FEES, 'b', 1],
      [16, 'from-collected', 'a', COLLECTED, 1],
      [17, 'from-fees', 'a', FEES, 1],
      [18, 'deposit:other', 'world', 'customer:anna', 1],
    ]),
  ])
  assert.deepEqual(await foundIn(sql, wrongCollections), [
    'collected:credit: 1 sun left to treasury:collected, booked are 1 sun from revenue ' +
      'to treasury:collected',
    'collected:debit: 1 sun left to treasury:collected, booked are 1 sun from world to ' +
      'treasury:fees',
    'collected:kind: 1 sun left to treasury:collected, booked are 1 sun from world to ' +
      'treasury:collected',
    'collected:more: 1 sun left to treasury:collected, booked are 2 sun from world to ' +
      'treasury:collected',
    'collected:nothing: 1 sun from b to a, and nothing left',
    'collected:unbooked: 1 sun are not booked',
    'collected:unbooked/fee: 1 sun are not booked',
    'from-collected: 1 sun from treasury:collected to a, and nothing left',
    'from-fees: 1 sun from treasury:fees to a, and nothing left',
    'to-collected: 1 sun from b to treasury:collected, and nothing left',
    'to-fees: 1 sun from b to treasury:fees, and nothing left',
    'transfer left: it is collected with 1, and 2 sun left by it',
    'transfer left-fee: it is collected with 1, and 1 sun left by it',
    'transfer stayed: it is collected with 1, and no sun left by it',
  ])
})

test('a check that goes on looks at what was collected since, or booked since', async (t) => {
  const sql = await bareTables(t, [
    transfers([
      ['since', 'collected', null, 1, 0],
      ['before', 'collected', null, 1, 0, BEFORE],
      ['touched', 'collected', null, 1, 0, BEFORE],
      ['sealed', 'collected', null, 1, 0, BEFORE],
      ['other', 'collected', null, 1, 0, BEFORE],
      ['first', 'collected', null, 1, 0],
      ['too-early', 'collected', null, 1, 0],
      ['first-right', 'collected', null, 1, 0, BEFORE],
    ]),
    outflows(
      ['since', 'before', 'touched', 'sealed', 'other', 'first', 'too-early', 'first-right'].map(
        (id) => [id, 1, 0],
      ),
    ),
    entryRows([
      [10, 'collected:too-early', COLLECTED, 'world', 1],
      [11, 'collected:first', COLLECTED, 'world', 1],
      [20, 'collected:sealed', COLLECTED, 'world', 9],
      [21, 'collected:touched', COLLECTED, 'world', 9],
      [22, 'collected:first-right', COLLECTED, 'world', 1],
      [23, 'refund:other', 'a', 'b', 1],
      [24, 'collected:nothing', 'a', 'b', 1],
    ]),
  ])
  assert.deepEqual(await foundIn(sql, wrongCollections, scopeFrom(20n)), [
    'collected:nothing: 1 sun from b to a, and nothing left',
    'collected:since: 1 sun are not booked',
    'collected:too-early: 1 sun are not booked',
    'collected:touched: 1 sun left to treasury:collected, booked are 9 sun from world ' +
      'to treasury:collected',
  ])
  assert.deepEqual(await foundIn(sql, wrongCollections, scopeFrom(1n)), [
    'collected:nothing: 1 sun from b to a, and nothing left',
    'collected:sealed: 1 sun left to treasury:collected, booked are 9 sun from world ' +
      'to treasury:collected',
    'collected:since: 1 sun are not booked',
    'collected:too-early: 1 sun are not booked',
    'collected:touched: 1 sun left to treasury:collected, booked are 9 sun from world ' +
      'to treasury:collected',
  ])
  assert.deepEqual(await foundIn(sql, wrongCollections, scopeFrom(0n)), [
    'collected:first-right: 1 sun from world to treasury:collected, and nothing left',
    'collected:nothing: 1 sun from b to a, and nothing left',
    'collected:sealed: 9 sun from world to treasury:collected, and nothing left',
    'collected:since: 1 sun are not booked',
    'collected:too-early: 1 sun are not booked',
    'collected:touched: 9 sun from world to treasury:collected, and nothing left',
  ])
})

const claims = (rows: BareRows['rows']): BareRows => ({
  table: 'reward_claim',
  columns: 'id state reward_sun attempt_id ended_at',
  rows: rows.map((row) => [...row, ...[SINCE].slice(row.length - 4)]),
})
const votes = (rows: BareRows['rows']): BareRows => ({
  table: 'vote',
  columns: 'id state attempt_id',
  rows,
})
const attempts: BareRows = {
  table: 'attempt',
  columns: 'id state',
  rows: ['solid', 'dead', 'included'].map((state) => [state, state]),
}
const [VOTES, WALLETS] = ['income:votes', 'treasury:wallets']

test('what votes earned is booked once, as it was withdrawn, and nothing else is', async (t) => {
  const sql = await bareTables(t, [
    attempts,
    claims([
      ['right', 'claimed', 1, 'solid'],
      ['claiming', 'claiming', 5, 'included'],
      ['failed', 'failed', null, 'dead'],
      ['unbooked', 'claimed', 1, 'solid'],
      ['more', 'claimed', 1, 'solid'],
      ['kind', 'claimed', 1, 'solid'],
      ['debit', 'claimed', 1, 'solid'],
      ['credit', 'claimed', 1, 'solid'],
      ['undone', 'claimed', 1, 'included'],
      ['happened', 'failed', null, 'solid'],
    ]),
    votes([
      ['right', 'cast', 'solid'],
      ['casting', 'casting', 'included'],
      ['failed', 'failed', 'dead'],
      ['undone', 'cast', 'included'],
      ['happened', 'failed', 'solid'],
    ]),
    entryRows([
      [1, 'reward:right', WALLETS, VOTES, 1],
      [2, 'reward:more', WALLETS, VOTES, 2],
      [3, 'reward:kind', WALLETS, VOTES, 1, 'hold'],
      [4, 'reward:debit', 'world', VOTES, 1],
      [5, 'reward:credit', WALLETS, 'revenue', 1],
      [6, 'reward:undone', WALLETS, VOTES, 1],
      [7, 'reward:nothing', 'a', 'b', 1],
      [8, 'to-votes', VOTES, 'b', 1],
      [9, 'to-wallets', WALLETS, 'b', 1],
      [10, 'from-votes', 'a', VOTES, 1],
      [11, 'from-wallets', 'a', WALLETS, 1],
      [12, 'deposit:other', 'world', 'customer:anna', 1],
    ]),
  ])
  assert.deepEqual(await foundIn(sql, wrongRewards), [
    'claim happened: it is failed while its transaction is solid',
    'claim undone: it is claimed while its transaction is included',
    'from-votes: 1 sun from a to income:votes, of no withdrawal',
    'from-wallets: 1 sun from a to treasury:wallets, of no withdrawal',
    'reward:credit: 1 sun were withdrawn, booked are 1 sun from treasury:wallets to ' + 'revenue',
    'reward:debit: 1 sun were withdrawn, booked are 1 sun from world to income:votes',
    'reward:kind: 1 sun were withdrawn, booked are 1 sun from treasury:wallets to ' +
      'income:votes',
    'reward:more: 1 sun were withdrawn, booked are 2 sun from treasury:wallets to ' +
      'income:votes',
    'reward:nothing: 1 sun from a to b, of no withdrawal',
    'reward:unbooked: 1 sun are not booked',
    'to-votes: 1 sun from income:votes to b, of no withdrawal',
    'to-wallets: 1 sun from treasury:wallets to b, of no withdrawal',
    'vote happened: it is failed while its transaction is solid',
    'vote undone: it is cast while its transaction is included',
  ])
})

test('a check that goes on looks at what votes earned since, or booked since', async (t) => {
  const sql = await bareTables(t, [
    attempts,
    votes([]),
    claims([
      ['since', 'claimed', 1, 'solid'],
      ['before', 'claimed', 1, 'solid', BEFORE],
      ['touched', 'claimed', 1, 'solid', BEFORE],
      ['sealed', 'claimed', 1, 'solid', BEFORE],
      ['first', 'claimed', 1, 'solid'],
      ['too-early', 'claimed', 1, 'solid'],
      ['booked', 'claimed', 1, 'solid', BEFORE],
    ]),
    entryRows([
      [10, 'reward:too-early', WALLETS, VOTES, 1],
      [11, 'reward:first', WALLETS, VOTES, 1],
      [20, 'reward:sealed', WALLETS, VOTES, 9],
      [21, 'reward:touched', WALLETS, VOTES, 9],
      [22, 'reward:booked', WALLETS, VOTES, 1],
      [23, 'reward:nothing', 'a', 'b', 1],
    ]),
  ])
  assert.deepEqual(await foundIn(sql, wrongRewards, scopeFrom(20n)), [
    'reward:nothing: 1 sun from a to b, of no withdrawal',
    'reward:since: 1 sun are not booked',
    'reward:too-early: 1 sun are not booked',
    'reward:touched: 1 sun were withdrawn, booked are 9 sun from treasury:wallets to ' +
      'income:votes',
  ])
  assert.deepEqual(await foundIn(sql, wrongRewards, scopeFrom(1n)), [
    'reward:nothing: 1 sun from a to b, of no withdrawal',
    'reward:sealed: 1 sun were withdrawn, booked are 9 sun from treasury:wallets to ' +
      'income:votes',
    'reward:since: 1 sun are not booked',
    'reward:too-early: 1 sun are not booked',
    'reward:touched: 1 sun were withdrawn, booked are 9 sun from treasury:wallets to ' +
      'income:votes',
  ])
  assert.deepEqual(await foundIn(sql, wrongRewards, scopeFrom(0n)), [
    'reward:booked: 1 sun from treasury:wallets to income:votes, of no withdrawal',
    'reward:nothing: 1 sun from a to b, of no withdrawal',
    'reward:sealed: 9 sun from treasury:wallets to income:votes, of no withdrawal',
    'reward:since: 1 sun are not booked',
    'reward:too-early: 1 sun are not booked',
    'reward:touched: 9 sun from treasury:wallets to income:votes, of no withdrawal',
  ])
})
