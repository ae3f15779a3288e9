// The customer's account: what is on it, what came and went, and what was set.

import type { Caller, CallOptions, WithResponse } from '../wire/calls.ts'
import type { Pages } from '../wire/endpoints.ts'
import { type Filter, items } from '../wire/lists.ts'
import { methodsOf, type Result } from '../wire/methods.ts'

export type Deposits = Pages['/deposits/{tx_id}']['result']
export type DepositsFrom = Pages['/deposits/from/{address}']['result']

export function account(caller: Caller) {
  const { call, read, byNumber, list } = methodsOf(caller)
  return {
    balance: {
      /** The spendable balance, and the address to send more to. */
      get: read('/v1/balance'),
    },
    deposits: {
      /** Deposits at your address, the newest first. */
      list: list('/v1/deposits/list'),
      /** The deposit that a transaction made at your address. */
      check: (tx_id: string, options?: CallOptions) =>
        caller.post('/v1/deposit/check', { tx_id }, options),
      /** What became of what anybody's transaction sent to the address that is public; needs no
       *  credentials. Throws NotFound until a block has it. */
      checkPublic: (tx_id: string, options?: CallOptions) =>
        caller.get(`/deposits/${encodeURIComponent(tx_id)}`, options) as Promise<
          WithResponse<Deposits>
        >,
      /** Payments of an address to the address that is public, of the last 24 hours, the newest
       *  first; needs no credentials. */
      listPublic: (address: string, options?: CallOptions) =>
        caller.get(`/deposits/from/${encodeURIComponent(address)}`, options) as Promise<
          WithResponse<DepositsFrom>
        >,
      /** Where TRX sent by anybody buys energy for the sender, and at which rates. */
      rechargeInfo: read('/v1/direct-recharge-info'),
    },
    statement: {
      /** The figures of a period, and a page of its entries, the newest first. */
      page: call('/v1/statement'),
      /** Every entry of a period, the newest first. */
      entries: list('/v1/statement'),
      /** A period as CSV (RFC 4180), the oldest entry first, amounts in TRX. */
      csv: (period: Period = {}, options?: CallOptions) => statementCsv(caller, period, options),
      /** Totals by hour or by day. */
      summary: call('/v1/summary'),
    },
    invoices: {
      /** All invoices, the newest first. */
      list: list('/v1/invoices/list'),
      /** One by its number, line by line. */
      check: byNumber('/v1/invoice/check'),
    },
    settings: {
      get: read('/v1/settings'),
      /** Sets what is given, and leaves the rest as it is. */
      change: call('/v1/settings/change'),
    },
    refusals: {
      /** Refused calls of the last seven days, with the reasons, the newest first. */
      list: list('/v1/refusals/list'),
    },
  }
}

type Period = Omit<Filter<'/v1/statement'>, 'limit'>
type Figures = Result<'/v1/statement'>['opening']

const HEAD =
  'made_at,id,kind,service,external_id,amount_trx,held_trx,balance_trx,spendable_trx'.split(',')
const PAGE = 1_000

async function statementCsv(caller: Caller, period: Period, options?: CallOptions) {
  // Entries that come while the others are read are not in it, and its last line says so.
  const entries = []
  for await (const entry of items(caller, '/v1/statement', { ...period, limit: PAGE }, options))
    entries.push(entry)
  const { opening } = await caller.post('/v1/statement', { ...period, limit: 1 }, options)
  return statementText(period, { opening, entries })
}

type StatementEntries = { opening: Figures; entries: Result<'/v1/statement'>['items'] }

/** A period as CSV, of what has been read of it: its opening figures, and all of its entries with
 *  the newest first. */
export function statementText(period: Period, { opening, entries }: StatementEntries): string {
  const closing = entries[0] ?? opening
  const border = (kind: string, at: string | undefined, { balance, spendable }: Figures) => [
    ...[at ? wireTime(at) : '', '', kind, '', '', '', ''],
    ...[balance, spendable],
  ]
  const rows = [...entries]
    .reverse()
    .map(({ at, id, kind, for: purpose, ...figures }) => [
      ...[at, id, kind, purpose.service ?? purpose.what, harmless(purpose.external_id ?? '')],
      ...[figures.amount, figures.held, figures.balance, figures.spendable],
    ])
  const first = border('opening', period.since, opening)
  const all = [HEAD, first, ...rows, border('closing', period.until, closing)]
  return all.map((row) => `${row.map(quoted).join(',')}\r\n`).join('')
}

const wireTime = (at: string) => `${new Date(at).toISOString().slice(0, 19)}Z`

function quoted(cell: string | number): string {
  const text = String(cell)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Text that was chosen by somebody, so that no spreadsheet takes it for a formula. */
const harmless = (cell: string) => (/^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell)
