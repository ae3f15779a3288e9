// Watches in a CSV file: address, and if wanted reference, any_incoming_usd, severe_share_bp,
// severe_usd and sent_to. The file is refused as a whole at its first mistake, with the line.

import { isAddress } from 'penstock-tron/address.ts'
import { refusal } from '../../lib/fault.ts'
import { REFERENCE_MAX, USD_MAX } from '../../screening/checks/watch_rules.ts'
import { type NewWatch, WATCHES_MAX } from '../../screening/checks/watches.ts'
import { field, rowsOf, type TableRow } from '../../screening/labels/tables.ts'

const COLUMNS = [
  'address',
  'reference',
  'any_incoming_usd',
  'severe_share_bp',
  'severe_usd',
  'sent_to',
]

/** Throws Refused, with the line, for what is not as it should be. */
export async function readWatchTable(bytes: AsyncIterable<Uint8Array>): Promise<NewWatch[]> {
  const watches = new Map<string, NewWatch>()
  for await (const row of rowsOf(bytes)) {
    const where = `line ${row.line}`
    const unknown = Object.keys(row.fields).find((name) => !COLUMNS.includes(name))
    if (unknown !== undefined)
      throw refusal(`There is a column "${unknown}"; there may be ${COLUMNS.join(', ')}.`)
    const watch = watchOf(row, where)
    if (watches.has(watch.address)) throw refusal(`${where}: ${watch.address} is there twice.`)
    watches.set(watch.address, watch)
    if (watches.size > WATCHES_MAX)
      throw refusal(`${where}: more than ${WATCHES_MAX} addresses cannot be watched.`)
  }
  if (watches.size === 0) throw refusal('The file has no address.')
  return [...watches.values()]
}

function watchOf(row: TableRow, where: string): NewWatch {
  const address = field(row, 'address')
  if (!isAddress(address)) throw refusal(`${where}: "${address}" is not an address.`)
  const reference = field(row, 'reference')
  if (reference.length > REFERENCE_MAX)
    throw refusal(`${where}: the reference is longer than ${REFERENCE_MAX} characters.`)
  const sent_to = field(row, 'sent_to')
  if (!/^(|true|false)$/.test(sent_to))
    throw refusal(`${where}: sent_to "${sent_to}" is neither true nor false.`)
  const wholeOf = (name: string, [min, max]: readonly [number, number]) => {
    const text = field(row, name)
    if (text === '') return null
    if (!/^\d{1,15}$/.test(text) || Number(text) < min || Number(text) > max)
      throw refusal(`${where}: ${name} "${text}" is not a whole number from ${min} to ${max}.`)
    return BigInt(text)
  }
  const share = wholeOf('severe_share_bp', [1, 10_000])
  return {
    address,
    ...(reference !== '' && { reference }),
    rules: {
      any_incoming_usd: wholeOf('any_incoming_usd', [0, USD_MAX]),
      severe_share_bp: share === null ? null : Number(share),
      severe_usd: wholeOf('severe_usd', [1, USD_MAX]),
      sent_to: sent_to === 'true',
    },
  }
}
