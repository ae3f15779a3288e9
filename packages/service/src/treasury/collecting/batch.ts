// A batch: the file that carries the transfers of a collection to the machine with the words of the
// deposit wallet and back. Each transfer is bytes; who sends how much to whom is always read from
// them, and the rest of the file is compared with that. Nothing here asks a node or a database.

import { hash } from 'node:crypto'
import { HDKey } from '@scure/bip32'
import { mnemonicToSeed, validateMnemonic } from '@scure/bip39'
import { wordlist } from '@scure/bip39/wordlists/english.js'
import { type Address, addressFromHex, addressToHex } from 'penstock-tron/address.ts'
import { addressOf, type PrivateKey, recoverAddress, sign } from 'penstock-tron/keys.ts'
import { addressWord, numberWord } from 'penstock-tron/tokens.ts'
import {
  type Contract,
  contract,
  decodeRawData,
  encodeRawData,
  encodeTransaction,
  transactionId,
} from 'penstock-tron/transaction.ts'
import type { BlockHead } from '../../chain/node/node.ts'
import { wireTime } from '../../lib/clock.ts'
import { refusal } from '../../lib/fault.ts'
import { trxText } from '../../lib/json.ts'

/** Where the keys of deposit addresses lie below the words; the index of the address follows. */
const ACCOUNT = "m/44'/195'/0'"
const EXTERNAL_CHAIN = 0
/** Transfers of one part of a file. */
const PART_MAX = 500
/** The bytes that the network counts for the outcome of each transaction. */
const RESULT_BYTES = 64
const SIGNATURE = '00'.repeat(65)
/** `transfer(address,uint256)` of a token. */
const SELECTOR = 'a9059cbb'

/** One transfer from the deposit address with this index. `energy`: what a transfer of a token
 *  needs; `signature`: absent until it is signed. */
export type BatchTransfer = {
  index: number
  raw_data: string
  energy?: number
  signature?: string
}

/** `network` is the id of the chain's first block; `digest` the sum of all bytes, for comparing. */
export type Batch = {
  collection: string
  network: string
  digest: string
  parts: { transfers: BatchTransfer[] }[]
}

/** The transfer that its bytes make. `token`: null for TRX; `amount`: in sun, or in the smallest
 *  unit of the token. */
export type CollectedTransfer = {
  from: Address
  to: Address
  token: Address | null
  amount: bigint
  fee_limit_sun: bigint
  expires_at: Date
  tx_id: string
  raw: Uint8Array
}

type NewTransfer = Pick<CollectedTransfer, 'from' | 'to' | 'token' | 'amount' | 'fee_limit_sun'>

/** The block that transactions name, and their times, all of one collection alike. */
export type Validity = { reference: BlockHead; head: BlockHead; hours: number }

/** The bytes to sign: valid for some hours after the newest block. */
export function transferBytes(transfer: NewTransfer, { reference, head, hours }: Validity) {
  const { fee_limit_sun } = transfer
  return encodeRawData({
    // A solid block, so that no fork makes the transaction invalid.
    ref_block_bytes: reference.id.slice(12, 16),
    ref_block_hash: reference.id.slice(16, 32),
    timestamp: head.time.getTime(),
    expiration: head.time.getTime() + hours * 3_600_000,
    contract: [contractOf(transfer)],
    ...(fee_limit_sun > 0n && { fee_limit: fee_limit_sun }),
  })
}

function contractOf({ from, to, token, amount }: NewTransfer): Contract {
  const owner_address = addressToHex(from)
  if (token === null)
    return contract('TransferContract', { owner_address, to_address: addressToHex(to), amount })
  return contract('TriggerSmartContract', {
    owner_address,
    contract_address: addressToHex(token),
    data: SELECTOR + addressWord(to) + numberWord(amount),
  })
}

/** The bandwidth that the network counts for it when it is signed with one key. */
export const bandwidthOf = (raw: Uint8Array): number =>
  encodeTransaction(raw, [SIGNATURE]).length + RESULT_BYTES

/** Reads the bytes. Throws Refused when they are anything else than a plain transfer of TRX or of a
 *  token, by the owner: one more byte would be one that was not read. */
export function readTransfer(raw: Uint8Array): CollectedTransfer {
  const { contract: contracts, expiration, fee_limit = 0n, ...rest } = decodeRawData(raw)
  const [first] = contracts
  const { owner_address, to_address, contract_address, data, amount } = first?.parameter.value ?? {}
  const is_token = first?.type === 'TriggerSmartContract'
  if (!is_token && first?.type !== 'TransferContract') throw refusal('it is no transfer')
  const call = String(data ?? '')
  const found = {
    from: addressFromHex(String(owner_address)),
    to: addressFromHex(is_token ? `41${call.slice(32, 72)}` : String(to_address)),
    token: is_token ? addressFromHex(String(contract_address)) : null,
    amount: BigInt(is_token ? `0x${call.slice(72) || '0'}` : String(amount ?? 0)),
    fee_limit_sun: BigInt(fee_limit),
  }
  // Written again from what was read, so that nothing else stands in the bytes.
  const { ref_block_bytes, ref_block_hash, timestamp = 0 } = rest
  const same = encodeRawData({
    ref_block_bytes,
    ref_block_hash,
    expiration,
    timestamp,
    contract: [contractOf(found)],
    ...(found.fee_limit_sun > 0n && { fee_limit: found.fee_limit_sun }),
  })
  const id = transactionId(raw)
  if (transactionId(same) !== id || found.amount <= 0n) throw refusal('it is no plain transfer')
  return { ...found, expires_at: new Date(Number(expiration)), tx_id: id, raw }
}

export type ReadTransfer = CollectedTransfer & Omit<BatchTransfer, 'raw_data'>

/** The transfers of a batch, as their bytes say. Throws Refused, in one sentence, when the file was
 *  changed or is another one. */
export function readBatch({ digest, parts }: Batch): ReadTransfer[] {
  const transfers = parts.flatMap(({ transfers }, p) =>
    transfers.map(({ raw_data, ...one }, i) => {
      try {
        return { ...one, ...readTransfer(Buffer.from(raw_data, 'hex')) }
      } catch (thrown) {
        throw refusal(
          `Transfer ${i + 1} of part ${p + 1} was changed: ${(thrown as Error).message}.`,
        )
      }
    }),
  )
  if (transfers.length === 0) throw refusal('The file has no transfers.')
  if (digestOf(transfers) !== digest)
    throw refusal('The file was changed: its digest is not that of its transfers.')
  const places = new Set(transfers.map(({ from, token }) => `${from} ${token}`))
  if (places.size < transfers.length) throw refusal('The file collects from an address twice.')
  return transfers
}

/** A sum of all bytes in their order: 64 hexadecimal characters. */
export const digestOf = (transfers: readonly { tx_id: string }[]): string =>
  hash('sha256', transfers.map(({ tx_id }) => tx_id).join(), 'hex')

/** The file of transfers, in parts. */
export function batchOf(
  { collection, network }: Pick<Batch, 'collection' | 'network'>,
  transfers: readonly (BatchTransfer & { tx_id: string })[],
): Batch {
  const plain = transfers.map(({ tx_id: _, ...one }) => one)
  const parts = Array.from({ length: Math.ceil(plain.length / PART_MAX) }, (_, i) => ({
    transfers: plain.slice(i * PART_MAX, (i + 1) * PART_MAX),
  }))
  return { collection, network, digest: digestOf(transfers), parts }
}

/** How many transfers, how much, and each receiver, a line each, by the bytes alone. */
export function batchWords(transfers: readonly CollectedTransfer[]): string[] {
  const groups = Map.groupBy(transfers, ({ to, token }) => `${to} ${token}`)
  const lines = [...groups.values()].map((of) => {
    const { to, token } = of[0]!
    const sum = of.reduce((total, { amount }) => total + amount, 0n)
    const what = token === null ? `${trxText(sum)} TRX` : `${sum} of the token ${token}`
    const addresses = of.length === 1 ? '1 address' : `${of.length} addresses`
    return `${to} gets ${what} from ${addresses}.`
  })
  const limit_sun = transfers.reduce((sum, { fee_limit_sun }) => sum + fee_limit_sun, 0n)
  const burn =
    limit_sun === 0n ? [] : [`Energy may burn ${trxText(limit_sun)} TRX at most, together.`]
  return [...lines, ...burn]
}

/** Until when all of them may be sent. */
export const expiryOf = (transfers: readonly CollectedTransfer[]): Date =>
  new Date(Math.min(...transfers.map(({ expires_at }) => expires_at.getTime())))

/** Throws Refused when it is too late. */
export function requireInTime(transfers: readonly CollectedTransfer[], now: Date): void {
  const expires_at = expiryOf(transfers)
  if (expires_at > now) return
  throw refusal(
    `It could be sent until ${wireTime(expires_at)}: make another with treasury collect. ` +
      'What was sent of this one is counted.',
  )
}

/** The key of a deposit address, by its index. */
export type DepositKey = (index: number) => PrivateKey

/** The keys below 12 to 24 words, or below an extended private key of m/44'/195'/0'. Throws Refused
 *  when the text is neither; it stands in no message. */
export async function depositKeys(given: string): Promise<DepositKey> {
  const secret = given.trim().replaceAll(/\s+/g, ' ')
  const account = secret.startsWith('xprv') ? accountOf(secret) : await accountBelow(secret)
  const external = account.deriveChild(EXTERNAL_CHAIN)
  return (index) => Buffer.from(external.deriveChild(index).privateKey!).toString('hex')
}

function accountOf(secret: string): HDKey {
  try {
    const account = HDKey.fromExtendedKey(secret)
    if (account.privateKey !== null && account.depth === 3) return account
  } catch {
    // Said below.
  }
  throw refusal(`Standard input has no extended private key of ${ACCOUNT}.`)
}

async function accountBelow(words: string): Promise<HDKey> {
  if (!validateMnemonic(words, wordlist))
    throw refusal('Standard input has no words of a wallet: give the file that has them.')
  return HDKey.fromMasterSeed(await mnemonicToSeed(words)).derive(ACCOUNT)
}

/** The batch with all its signatures. Throws Refused unless every receiver is one of these, and
 *  every address is that of its index below these keys. */
export function signBatch(
  batch: Batch,
  { keyOf, collect_to, now }: SigningTerms,
): { signed: Batch; transfers: ReadTransfer[] } {
  const transfers = readBatch(batch)
  requireReceivers(transfers, collect_to)
  requireInTime(transfers, now)
  const signatures = new Map(
    transfers.map(({ index, from, tx_id }) => {
      const key = keyOf(index)
      const own = addressOf(key)
      if (own !== from)
        throw refusal(
          `These are not the words of deposit_xpub: ${ACCOUNT}/0/${index} is ${own}, and the ` +
            `transfer is from ${from}.`,
        )
      return [tx_id, sign(tx_id, key)]
    }),
  )
  const parts = batch.parts.map(({ transfers }) => ({
    transfers: transfers.map((one) => ({
      ...one,
      signature: signatures.get(transactionId(Buffer.from(one.raw_data, 'hex')))!,
    })),
  }))
  return { signed: { ...batch, parts }, transfers }
}

type SigningTerms = { keyOf: DepositKey; collect_to: readonly Address[]; now: Date }

/** Throws Refused when anything goes to somebody else. */
export function requireReceivers(
  transfers: readonly { to: Address }[],
  collect_to: readonly Address[],
): void {
  const others = new Set(transfers.map(({ to }) => to).filter((to) => !collect_to.includes(to)))
  if (others.size === 0) return
  throw refusal(
    `${[...others].join(', ')} is not in collect_to of the file of wallets: nothing is sent there.`,
  )
}

/** Throws Refused unless each is signed by the key of the address that it is from. */
export function requireSigned(transfers: readonly ReadTransfer[]): void {
  for (const { signature, tx_id, from } of transfers) {
    if (signature === undefined) throw refusal('The file is not signed yet: wallets sign FILE.')
    if (signerOf(tx_id, signature) !== from)
      throw refusal(`The file was changed: the signature for ${from} is of something else.`)
  }
}

/** Whose key it is; undefined when it is the signature of nothing. */
function signerOf(tx_id: string, signature: string): Address | undefined {
  try {
    return recoverAddress(tx_id, signature)
  } catch {
    return undefined
  }
}
