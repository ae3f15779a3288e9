// What leaves deposit addresses, held against the files that operators have made and the entries:
// it goes to the receiver of its file, it is booked when it is solid and not before, and once.

import type { ChainTransaction } from './branch.ts'
import type { CollectionTransfer, Transfer } from './rows.ts'
import type { Books } from './rules.ts'

const ACCOUNTS = ['treasury:collected', 'treasury:fees']

const isOurs = ({ id, debit, credit }: Transfer) =>
  id.startsWith('collected:') || ACCOUNTS.includes(debit) || ACCOUNTS.includes(credit)

/** C18: what left is in one file and goes where that says; what is booked is solid. */
export function collectionsAreExact({ rows, branch }: Books): string[] {
  const known = new Map(rows.collections.map((one) => [one.tx_id, one]))
  const deposit_addresses = new Set(rows.customers.map(({ deposit_address }) => deposit_address))
  const left = [...branch.transactions.values()].filter(
    ({ type, owner, succeeded }) =>
      type === 'TransferContract' && succeeded && deposit_addresses.has(owner),
  )
  const findings = left.flatMap((one) => wrongWay(one, known.get(one.tx_id)))
  const alive = new Set<string>()
  for (const { state, address, token, tx_id } of rows.collections) {
    const place = `${address} ${token}`
    if (state === 'made' && alive.has(place))
      findings.push(`C18 ${place} is in two files, one has ${tx_id}`)
    if (state === 'made') alive.add(place)
    if (state === 'dead' && branch.transactions.has(tx_id))
      findings.push(`C18 ${tx_id} is dead and on the chain`)
  }
  for (const entry of rows.transfers.filter(isOurs)) {
    const tx_id = entry.id.split(/[:/]/)[1] ?? ''
    const found = branch.transactions.get(tx_id)
    const is_solid = found !== undefined && found.block_number <= branch.solid_number
    const is_fee = entry.id.endsWith('/fee')
    const sun = is_fee ? (known.get(tx_id)?.fee_sun ?? -1n) : (found?.sun ?? -1n)
    const fits =
      entry.id === `collected:${tx_id}${is_fee ? '/fee' : ''}` &&
      entry.kind === 'move' &&
      entry.credit === 'world' &&
      entry.debit === (is_fee ? 'treasury:fees' : 'treasury:collected')
    if (!is_solid || !fits || entry.amount_sun !== sun)
      findings.push(
        `C18 ${entry.id} books ${entry.amount_sun} from ${entry.credit} to ${entry.debit}, ` +
          `on the chain: ${found ? `${found.sun} in ${found.block_number}` : 'nothing'}`,
      )
  }
  return findings
}

function wrongWay(
  { tx_id, owner, to, sun }: ChainTransaction,
  file: CollectionTransfer | undefined,
): string[] {
  if (!file) return [`C18 ${sun} sun left ${owner} for ${to} by ${tx_id}, which is in no file`]
  const fits = file.address === owner && file.receiver === to && file.amount === sun
  return fits ? [] : [`C18 ${tx_id} sent ${sun} to ${to}, its file says ${file.amount}`]
}

/** C18, at rest: what left is booked, and nothing may still come. */
export function collectedIsBooked({ rows, branch }: Books): string[] {
  const booked = new Map(rows.transfers.map((one) => [one.id, one.amount_sun]))
  return rows.collections.flatMap(({ tx_id, state, token, moved }) => {
    const found = branch.transactions.get(tx_id)
    const wanted = found === undefined ? 'dead' : found.succeeded ? 'collected' : 'failed'
    const sun = booked.get(`collected:${tx_id}`)
    const is_booked = sun === (token === null && state === 'collected' ? found?.sun : undefined)
    return state === wanted && is_booked
      ? []
      : [`C18 ${tx_id} is ${state} with ${moved}, on the chain ${wanted}, booked ${sun}`]
  })
}
