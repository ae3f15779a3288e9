// What operators have moved by hand, held against their decisions and the chain: each deposit went
// one way, each correction is one entry, and nothing else moved through the accounts that are for
// that.

import type { Deposit, Resolution, Rows, Transfer } from './rows.ts'
import type { Books } from './rules.ts'

const OURS = ['held_deposits', 'written_off', 'corrections']

const keyOf = ({ tx_id, position }: { tx_id: string; position: number }) =>
  position === 0 ? tx_id : `${tx_id}/${position}`

type Entry = Pick<Transfer, 'id' | 'debit' | 'credit' | 'amount_sun'>

/** The entries that a resolution comes to. */
function entriesOf(deposit: Deposit, { way, sent_amount, customer_id }: Resolution): Entry[] {
  const came = deposit.amount_sun
  if (came === null) return []
  const debit = deposit.customer_id === null ? 'customer:direct_recharge' : 'held_deposits'
  const id = `resolution:${keyOf(deposit)}`
  if (way === 'credited')
    return [{ id, debit, credit: `customer:${customer_id}`, amount_sun: came }]
  if (way === 'written_off') return [{ id, debit, credit: 'written_off', amount_sun: came }]
  const gone = { id, debit, credit: 'world', amount_sun: sent_amount ?? 0n }
  const rest = {
    id: `${id}/rest`,
    debit,
    credit: 'written_off',
    amount_sun: came - (sent_amount ?? 0n),
  }
  return rest.amount_sun === 0n ? [gone] : [gone, rest]
}

const entryText = ({ debit, credit, amount_sun }: Entry) =>
  `${amount_sun} from ${debit} to ${credit}`

/** C12: what was decided is what was booked. */
export function decisionsAreBooked({ rows }: Books): string[] {
  const deposits = new Map(rows.deposits.map((one) => [keyOf(one), one]))
  const due = new Map<string, Entry>()
  for (const resolution of rows.resolutions) {
    const deposit = deposits.get(keyOf(resolution))
    for (const entry of deposit ? entriesOf(deposit, resolution) : []) due.set(entry.id, entry)
  }
  for (const { id, customer_id, amount_sun } of rows.corrections) {
    const customer = `customer:${customer_id}`
    const [debit, credit] = amount_sun > 0n ? ['corrections', customer] : [customer, 'corrections']
    const entry = {
      id: `correction:${id}`,
      debit,
      credit,
      amount_sun: amount_sun > 0n ? amount_sun : -amount_sun,
    }
    due.set(entry.id, entry)
  }
  const findings: string[] = []
  for (const entry of movedByHand(rows)) {
    const wanted = due.get(entry.id)
    due.delete(entry.id)
    if (wanted === undefined || entry.kind !== 'move' || entryText(wanted) !== entryText(entry)) {
      findings.push(
        `C12 ${entry.id} moved ${entryText(entry)}, decided was ` +
          `${wanted ? entryText(wanted) : 'nothing'}`,
      )
    }
  }
  return [
    ...findings,
    ...[...due.values()].map((entry) => `C12 ${entry.id} of ${entryText(entry)} is not booked`),
  ]
}

const movedByHand = ({ transfers }: Rows) =>
  transfers.filter(
    ({ id, debit, credit }) =>
      /^(resolution|correction):/.test(id) ||
      OURS.includes(debit) ||
      (OURS.includes(credit) && !id.startsWith('deposit:')),
  )

/** C12: a deposit is resolved if and only if somebody has decided how; what sent it back is on the
 *  chain, once. */
export function resolutionsAreTrue({ rows, branch }: Books): string[] {
  const findings: string[] = []
  const resolutions = new Map(rows.resolutions.map((one) => [keyOf(one), one]))
  for (const deposit of rows.deposits) {
    const resolution = resolutions.get(keyOf(deposit))
    resolutions.delete(keyOf(deposit))
    if ((resolution !== undefined) !== (deposit.state === 'resolved')) {
      findings.push(
        `C12 deposit ${deposit.tx_id} is ${deposit.state} and was ` +
          `${resolution?.way ?? 'not resolved'}`,
      )
    }
    if (resolution?.way !== 'sent_back' || deposit.amount_sun === null) continue
    const sent = branch.transactions.get(resolution.sent_by ?? '')
    const real =
      sent?.type === 'TransferContract' && sent.succeeded && sent.to === resolution.sent_to
    if (!real || sent.sun !== resolution.sent_amount || sent.sun > deposit.amount_sun) {
      findings.push(
        `C12 deposit ${deposit.tx_id} was sent back by ${resolution.sent_by}, which is not so`,
      )
    }
  }
  for (const { tx_id } of resolutions.values())
    findings.push(`C12 deposit ${tx_id} was resolved and is not there`)
  const senders = rows.resolutions.flatMap(({ sent_by }) => sent_by ?? [])
  if (new Set(senders).size !== senders.length)
    findings.push('C12 a transaction has sent two deposits back')
  return findings
}

/** C6: what is held or ignored is booked as such, and nothing else is there. */
export function heldMoneyIsThere({ rows }: Books): string[] {
  let held = 0n
  for (const { customer_id, state, amount_sun } of rows.deposits) {
    if (customer_id !== null && (state === 'held' || state === 'ignored')) held += amount_sun ?? 0n
  }
  let booked = 0n
  for (const { debit, credit, amount_sun } of rows.transfers) {
    if (credit === 'held_deposits') booked += amount_sun
    if (debit === 'held_deposits') booked -= amount_sun
  }
  return held === booked ? [] : [`C6 ${booked} sun are booked as held, and ${held} are`]
}

type SenderFacts = { held_senders: readonly string[]; refund_address: string | undefined }

const UNTOUCHED = ['seen', 'held', 'ignored', 'resolved', 'gone']

/** What senders whose money is held have sent was neither credited nor delivered for, and nothing
 *  of ours has gone to them. */
export function heldSendersGetNothing(
  { rows, branch }: Books,
  { held_senders, refund_address }: SenderFacts,
): string[] {
  const findings = rows.deposits
    .filter(
      ({ from_address, state }) =>
        held_senders.includes(from_address) && !UNTOUCHED.includes(state),
    )
    .map(({ tx_id, state }) => `deposit ${tx_id} of a sender whose money is held is ${state}`)
  for (const { tx_id, owner, to } of branch.transactions.values()) {
    if (owner === refund_address && held_senders.includes(to))
      findings.push(`${tx_id} has sent back to one whose money is held`)
  }
  return findings
}

/** What of TRX was sent back by hand, together. */
export const sentBackByHand = ({ deposits, resolutions }: Rows): bigint => {
  const trx = new Set(deposits.filter(({ amount_sun }) => amount_sun !== null).map(keyOf))
  return resolutions.reduce(
    (sum, one) => sum + (trx.has(keyOf(one)) ? (one.sent_amount ?? 0n) : 0n),
    0n,
  )
}
