// History as blocks of the log: what rows of files say, in the order of the chain, without a gap.
// Whatever is odd is refused with its row: a past that is wrong somewhere is worse than none.

import { type Address, addressFromBytes, isAddress } from 'penstock-tron/address.ts'
import { bareAddress } from '../../chain/transfers/bare_addresses.ts'
import { type LoggedTransfer, packTransfers } from '../../chain/transfers/packed.ts'
import type { FreezeWord, NewBlock } from '../../chain/transfers/transfer_log.ts'
import { refusal } from '../../lib/fault.ts'
import type { FlowBasis } from './flow_log.ts'
import type { FieldValue, HistoryRow } from './history_rows.ts'

/** The limits of rows: followed assets, and how much of a token there is. */
/** A block with the row that begins it. `id` is empty where the file names none. */
export type HistoryBlock = { row: number; block: NewBlock }

/** Names by which exports call the columns. */
const NAMES = {
  block: ['block', 'block_number', 'blockNumber', 'block_height'],
  block_id: ['block_id', 'block_hash', 'blockHash'],
  time: ['time', 'block_time', 'block_timestamp', 'timestamp'],
  tx: ['tx', 'tx_id', 'tx_hash', 'transaction_hash', 'transactionHash'],
  index: ['index', 'position', 'log_index', 'logIndex'],
  event: ['event', 'kind'],
  asset: ['asset', 'token', 'token_address', 'contract_address', 'contract'],
  from: ['from', 'from_address', 'sender'],
  to: ['to', 'to_address', 'receiver'],
  amount: ['amount', 'value', 'raw_amount'],
} as const
type Name = keyof typeof NAMES
const NEEDED: readonly Name[] = ['block', 'time', 'tx', 'index', 'asset', 'from', 'to', 'amount']

const AMOUNT_MAX = 2n ** 64n - 1n
const HASH = /^[0-9a-f]{64}$/

/** A row that cannot be taken, in a sentence. */
const odd = (row: number, what: string) => refusal(`row ${row}: ${what}.`)

type Open = {
  row: number
  number: number
  id: string
  time: Date
  last_index: bigint
  transfers: LoggedTransfer[]
  tx_ids: string[]
  freezes: FreezeWord[]
}

/** Makes blocks of the rows of one file, in their order. */
export class HistoryReader {
  /** Rows of assets that are not followed, of nothing, and to oneself. */
  passed_over = 0
  private readonly basis: FlowBasis
  private columns: ReadonlyMap<Name, string> | undefined
  private open: Open | undefined

  constructor(basis: FlowBasis) {
    this.basis = basis
  }

  /** The block that a row completes, if it does. Throws Refused with the row. */
  read({ row, fields }: HistoryRow): HistoryBlock | undefined {
    this.columns ??= columnsOf(row, fields)
    const said = (name: Name): FieldValue => {
      const column = this.columns!.get(name)
      return column === undefined ? undefined : fields[column]
    }
    const number = Number(whole(row, 'block', said('block')))
    const completed = this.open && this.open.number !== number ? this.end() : undefined
    if (completed) requireNext(row, completed.block.number, number)
    this.open ??= beginBlock(row, number, said)
    if (completed && this.open.time <= completed.block.time)
      throw odd(row, `block ${number} is not later than block ${completed.block.number}`)
    this.note(this.open, row, said)
    return completed
  }

  /** The last block; undefined when there was no row. */
  end(): HistoryBlock | undefined {
    const { open } = this
    this.open = undefined
    if (!open) return undefined
    const { row, number, id, time, freezes } = open
    const transfers = packTransfers(open.transfers)
    const tx_ids = Buffer.from(open.tx_ids.join(''), 'hex')
    return { row, block: { number, id, time, freezes, transfers, tx_ids } }
  }

  private note(open: Open, row: number, said: (name: Name) => FieldValue): void {
    if (timeOf(row, said('time')).getTime() !== open.time.getTime())
      throw odd(row, `block ${open.number} has two times`)
    const tx = textOf(said('tx'))
    // A block without a transfer is a row of its own.
    if (tx === '' && textOf(said('asset')) === '' && open.transfers.length === 0) return
    const index = whole(row, 'index', said('index'))
    if (index <= open.last_index)
      throw odd(row, `index ${index} of block ${open.number} is not after ${open.last_index}`)
    open.last_index = index
    const event = textOf(said('event')) || 'transfer'
    if (event === 'transfer') this.noteTransfer(open, row, said)
    else if (event === 'freeze' || event === 'unfreeze') this.noteFreeze(open, row, said)
    else throw odd(row, `its event is ${event}, and none of transfer, freeze, unfreeze`)
  }

  private noteFreeze(open: Open, row: number, said: (name: Name) => FieldValue): void {
    const token = textOf(said('asset'))
    const frozen = textOf(said('event')) === 'freeze'
    if (!this.basis.assets.has(token)) this.passed_over += 1
    else open.freezes.push([token, addressOf(row, 'to', said('to')), frozen])
  }

  private noteTransfer(open: Open, row: number, said: (name: Name) => FieldValue): void {
    const tx = textOf(said('tx')).replace(/^0x/, '').toLowerCase()
    if (!HASH.test(tx)) throw odd(row, `its transaction ${shown(said('tx'))} is no id of TRON`)
    const asset = textOf(said('asset'))
    const [from, to] = [addressOf(row, 'from', said('from')), addressOf(row, 'to', said('to'))]
    const amount = whole(row, 'amount', said('amount'))
    const known = this.basis.assets.get(asset)
    const supply = this.basis.supplies.get(asset as Address)
    if (known && supply !== undefined && amount > supply)
      throw odd(row, `${amount} of ${known.symbol} moved, and there are ${supply}`)
    if (!known || amount === 0n || from === to) {
      this.passed_over += 1
      return
    }
    if (amount > AMOUNT_MAX) throw odd(row, `its amount ${amount} is above any that there can be`)
    const { number } = known
    open.transfers.push({ asset: number, from: bareAddress(from), to: bareAddress(to), amount })
    open.tx_ids.push(tx)
  }
}

function columnsOf(row: number, fields: HistoryRow['fields']): ReadonlyMap<Name, string> {
  const columns = new Map<Name, string>()
  for (const [name, known] of Object.entries(NAMES) as [Name, readonly string[]][]) {
    const column = known.find((one) => Object.hasOwn(fields, one))
    if (column !== undefined) columns.set(name, column)
  }
  const missing = NEEDED.find((name) => !columns.has(name))
  if (missing) throw odd(row, `it has no column ${NAMES[missing].join(' or ')}`)
  return columns
}

function requireNext(row: number, last: number, number: number): void {
  if (number === last + 1) return
  if (number > last)
    throw odd(row, `block ${number} comes after ${last}: ${number - last - 1} blocks are missing`)
  throw odd(row, `block ${number} comes after ${last}: a block stands once, and in order`)
}

function beginBlock(row: number, number: number, said: (name: Name) => FieldValue): Open {
  const id = textOf(said('block_id')).replace(/^0x/, '').toLowerCase()
  const begins = number.toString(16).padStart(16, '0')
  // The first half of a block's id is its number: another chain's is not.
  if (id !== '' && !(HASH.test(id) && id.startsWith(begins)))
    throw odd(row, `${id} is no id of block ${number} on TRON`)
  const time = timeOf(row, said('time'))
  return { row, number, id, time, last_index: -1n, transfers: [], tx_ids: [], freezes: [] }
}

const textOf = (said: FieldValue): string =>
  said === null || said === undefined ? '' : String(said)
const shown = (said: FieldValue): string => (textOf(said) === '' ? 'nothing' : textOf(said))

/** A whole number that has lost none of its digits. */
function whole(row: number, name: Name, said: FieldValue): bigint {
  if (typeof said === 'bigint' && said >= 0n) return said
  if (typeof said === 'string' && /^\d{1,78}$/.test(said)) return BigInt(said)
  if (typeof said === 'number' && Number.isSafeInteger(said) && said >= 0) return BigInt(said)
  if (typeof said === 'number')
    throw odd(row, `its ${name} ${said} has lost digits: write it as text or as 64 bits`)
  throw odd(row, `its ${name} is ${shown(said)}, and no whole number`)
}

/** A moment: as such, as text, or in seconds or milliseconds since 1970. */
function timeOf(row: number, said: FieldValue): Date {
  if (said instanceof Date && !Number.isNaN(said.getTime())) return said
  const number = /^\d{9,14}$/.test(textOf(said)) ? Number(textOf(said)) : undefined
  if (number !== undefined) return new Date(number < 100_000_000_000 ? number * 1_000 : number)
  const zoned = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?( ?UTC|Z|[+-]\d\d:?\d\d)?$/
  const text = textOf(said)
  const time = zoned.test(text)
    ? new Date(/(Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text.replace(/ ?UTC$/, '')}Z`)
    : undefined
  if (!time || Number.isNaN(time.getTime())) throw odd(row, `its time is ${shown(said)}`)
  return time
}

/** As TRON writes it, or its 21 bytes as hexadecimal digits. */
function addressOf(row: number, name: Name, said: FieldValue): Address {
  const text = textOf(said)
  if (/^(0x)?41[0-9a-f]{40}$/i.test(text))
    return addressFromBytes(Buffer.from(text.replace(/^0x/, ''), 'hex'))
  if (isAddress(text)) return text
  throw odd(row, `its ${name} ${shown(said)} is no address of TRON`)
}
