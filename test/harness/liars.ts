// A node that lies about blocks, in one manner or another, and knows how to make a lie look right:
// what it invents has bytes and an id that fit, and a receipt.

import type { Address } from 'penstock-tron/address.ts'
import { addressToHex } from 'penstock-tron/address.ts'
import { contract, decodeRawData, encodeRawData, transactionId } from 'penstock-tron/transaction.ts'

/** `misprints` prints another amount than the bytes say; `alters` changes the bytes and the id with
 *  it; `hides` shows nothing of what contracts did, which nodes do that are set so; `sends inside`
 *  invents such a thing. */
export const LIES = [
  'invents',
  'misprints',
  'alters',
  'leaves out',
  'hides',
  'sends inside',
] as const
export type Lie = (typeof LIES)[number]

export type Answer = { status: number; body: string }
type Ask = (path: string, body: string) => Answer
type Json = Record<string, unknown>
type Transaction = {
  txID: string
  ret: Json[]
  raw_data: { contract: Contract[] }
  raw_data_hex: string
  signature: string[]
}
type Contract = { type: string; parameter: { type_url: string; value: Json } }

/** What a liar wants to be believed. */
export type Aim = { to: readonly Address[]; sun: bigint; from: Address }

const INVENTED_EVERY = 5

export class Liar {
  lie: Lie | undefined
  /** Blocks below are told as they are. */
  from_block = 0
  /** How often an answer was not what the chain said. */
  told = 0
  private readonly ask: Ask
  private readonly aim: () => Aim

  constructor(ask: Ask, aim: () => Aim) {
    this.ask = ask
    this.aim = aim
  }

  answer(path: string, body: string): Answer {
    const true_answer = this.ask(path, body)
    const [, , name = ''] = path.split('/')
    if (this.lie === undefined || true_answer.status !== 200) return true_answer
    const said = JSON.parse(true_answer.body) as unknown
    if (name === 'getblockbylimitnext') {
      const { block = [] } = said as { block?: Json[] }
      for (const one of block) this.changeBlock(one)
    } else if (name === 'gettransactioninfobyblocknum') {
      const { num } = JSON.parse(body) as { num: number }
      return this.told_as(true_answer, this.receipts(num, said as Json[]))
    } else return true_answer
    return this.told_as(true_answer, said)
  }

  private told_as(true_answer: Answer, said: unknown): Answer {
    const body = JSON.stringify(said)
    if (body !== true_answer.body) this.told += 1
    return { ...true_answer, body }
  }

  private numberOf(block: Json): number {
    return (block.block_header as { raw_data: { number?: number } }).raw_data.number ?? 0
  }

  private changeBlock(block: Json): void {
    const number = this.numberOf(block)
    const transactions = (block.transactions ?? []) as Transaction[]
    const changed = number < this.from_block ? transactions : this.changed(number, transactions)
    if (changed.length > 0) block.transactions = changed
    else delete block.transactions
  }

  private changed(number: number, transactions: Transaction[]): Transaction[] {
    const { lie } = this
    const mine = (one: Transaction) => this.isAimedAt(one)
    if (lie === 'invents')
      return number % INVENTED_EVERY === 0 ? [...transactions, this.invented(number)] : transactions
    if (lie === 'leaves out') return transactions.filter((one) => !mine(one))
    if (lie === 'misprints') return transactions.map((one) => (mine(one) ? misprinted(one) : one))
    if (lie === 'alters') return transactions.map((one) => (mine(one) ? altered(one) : one))
    return transactions
  }

  private isAimedAt({ raw_data }: Transaction): boolean {
    const [{ type, parameter }] = raw_data.contract as [Contract]
    return (
      type === 'TransferContract' &&
      this.aim().to.some((to) => addressToHex(to) === parameter.value.to_address)
    )
  }

  /** A transfer that nobody made; the number makes it another one. */
  private invented(number: number): Transaction {
    const { to, sun, from } = this.aim()
    const value = {
      owner_address: addressToHex(from),
      to_address: addressToHex(to[number % to.length]!),
      amount: sun,
    }
    const raw = {
      ref_block_bytes: '0000',
      ref_block_hash: '00'.repeat(8),
      expiration: 1,
      timestamp: number,
    }
    const bytes = encodeRawData({ ...raw, contract: [contract('TransferContract', value)] })
    const printed = {
      ...contract('TransferContract', { ...value, amount: Number(sun) }),
    } as Contract
    return {
      ret: [{ contractRet: 'SUCCESS' }],
      signature: ['00'.repeat(65)],
      txID: transactionId(bytes),
      raw_data: { contract: [printed] },
      raw_data_hex: Buffer.from(bytes).toString('hex'),
    }
  }

  private receipts(number: number, receipts: Json[]): Json[] {
    const { lie } = this
    if (number < this.from_block) return receipts
    if (lie === 'hides') return receipts.map(({ internal_transactions: _, ...rest }) => rest)
    const { body } = this.ask(
      '/wallet/getblockbylimitnext',
      JSON.stringify({ startNum: number, endNum: number + 1 }),
    )
    const { block = [] } = JSON.parse(body) as { block?: { transactions?: Transaction[] }[] }
    const real = block[0]?.transactions ?? []
    if (lie === 'sends inside')
      return receipts.map((one, i) => (i === 0 ? { ...one, ...this.sentInside(number) } : one))
    const told = this.changed(number, real)
    const by_id = new Map(receipts.map((one) => [one.id, one]))
    return told.map(({ txID }, i) => {
      const true_one = by_id.get(txID) ?? (lie === 'alters' ? by_id.get(real[i]?.txID) : undefined)
      return { ...(true_one ?? { blockNumber: number, receipt: {} }), id: txID }
    })
  }

  private sentInside(number: number): Json {
    const { to, sun, from } = this.aim()
    const [caller_address, transferTo_address] = [from, to[number % to.length]!].map(addressToHex)
    const one = {
      hash: 'ab'.repeat(32),
      caller_address,
      transferTo_address,
      note: Buffer.from('call').toString('hex'),
    }
    return { internal_transactions: [{ ...one, callValueInfo: [{ callValue: Number(sun) }] }] }
  }
}

function withAmount(one: Transaction, amount: bigint): Transaction {
  const [{ type, parameter }] = one.raw_data.contract as [Contract]
  const value = { ...parameter.value, amount: Number(amount) }
  return {
    ...one,
    raw_data: { ...one.raw_data, contract: [{ type, parameter: { ...parameter, value } }] },
  }
}

const amountOf = ({ raw_data }: Transaction) =>
  BigInt((raw_data.contract[0]!.parameter.value.amount as number) ?? 0)

const misprinted = (one: Transaction) => withAmount(one, 1_000n * amountOf(one))

function altered(one: Transaction): Transaction {
  const raw = decodeRawData(Buffer.from(one.raw_data_hex, 'hex'))
  const [given] = raw.contract
  const value = { ...given!.parameter.value, amount: 1_000n * amountOf(one) }
  const bytes = encodeRawData({
    ...raw,
    contract: [{ ...given!, parameter: { ...given!.parameter, value } }],
  })
  return {
    ...misprinted(one),
    txID: transactionId(bytes),
    raw_data_hex: Buffer.from(bytes).toString('hex'),
  }
}
