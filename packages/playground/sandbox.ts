// The sandbox: everything a first purchase needs, on a development chain. Staked pool wallets whose
// hot keys may only delegate and take back, a wallet for activations, a customer with money, and
// accounts to try things with. All keys come from one phrase in <data-dir>/sandbox.json; making it
// again on the same chain and database changes nothing.

import { randomBytes } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bytesToHex } from '@noble/hashes/utils.js'
import { HDKey } from '@scure/bip32'
import { entropyToMnemonic, mnemonicToSeedSync, validateMnemonic } from '@scure/bip39'
import { wordlist } from '@scure/bip39/wordlists/english.js'
import type { Node, Transport } from 'penstock-service/chain/node/node.ts'
import type { Wallet } from 'penstock-service/chain/signing/signer.ts'
import type { Wallets } from 'penstock-service/chain/wallets/wallet_file.ts'
import { Misuse, Outage } from 'penstock-service/lib/fault.ts'
import { writeWhole } from 'penstock-service/lib/files.ts'
import { type Address, addressToHex } from 'penstock-tron/address.ts'
import { addressOf, type PrivateKey, sign } from 'penstock-tron/keys.ts'
import type { Message } from 'penstock-tron/protobuf.ts'
import {
  type Contract,
  contract,
  encodeRawData,
  encodeTransaction,
  transactionId,
} from 'penstock-tron/transaction.ts'

const POOL_WALLETS = 3
const FUNDED_ACCOUNTS = 3
const TRX = 1_000_000n
/** Of each pool wallet; the ratio of the main network makes some 9.6 energy a day of one TRX. */
const ENERGY_STAKE_SUN = 30_000_000n * TRX
const BANDWIDTH_STAKE_SUN = 5_000_000n * TRX
const FLOAT_SUN = 100_000n * TRX
const FUNDED_SUN = 1_000_000n * TRX
const FUNDED_USDT = 100_000n * 1_000_000n

/** The permission of a hot key, by the bits of the contract types that it may use. */
const DELEGATE_AND_RECLAIM = '0000000000000006'.padEnd(64, '0')
const CREATE_ACCOUNTS = '01'.padEnd(64, '0')
const TRANSFER = '02'.padEnd(64, '0')

type Key = { address: Address; private_key: PrivateKey }
type KeyedWallet = Wallet & Key

export type Sandbox = {
  wallets: Omit<Wallets, 'pool'> & {
    pool: KeyedWallet[]
    activation: KeyedWallet
    refund: KeyedWallet
  }
  /** Owners of the pool wallets, of the activation wallet and of the refund wallet. */
  owners: Key[]
  funded_accounts: Key[]
}

/** A devchain that is driven over HTTP. */
export type Control = (
  path: 'fund' | 'mint' | 'mine' | 'advance' | 'state',
  body?: object,
) => Promise<Record<string, unknown>>

export function devchainControl(url: string, transport: Transport): Control {
  return async (path, body = {}) => {
    const request = {
      url: `${url}/devchain/${path}`,
      body: JSON.stringify(body),
      headers: {},
      timeout_ms: 60_000,
    }
    const answer = await transport(request)
    if (answer.status !== 200)
      throw new Outage(`the devchain refuses ${path}: ${answer.body.slice(0, 200)}`)
    return JSON.parse(answer.body) as Record<string, unknown>
  }
}

/** The phrase of this data folder, made on first use. */
export async function sandboxPhrase(data_dir: string): Promise<string> {
  const file = join(data_dir, 'sandbox.json')
  const found = await readFile(file, 'utf8').catch(() => undefined)
  if (found !== undefined) return phraseOf(found, file)
  await mkdir(data_dir, { recursive: true })
  const phrase = entropyToMnemonic(randomBytes(16), wordlist)
  await writeWhole(file, `${JSON.stringify({ phrase }, null, 2)}\n`)
  return phrase
}

function phraseOf(text: string, file: string): string {
  const phrase = /^\{\s*"phrase":\s*"([a-z ]+)"\s*\}\s*$/.exec(text)?.[1]
  if (phrase === undefined || !validateMnemonic(phrase, wordlist)) {
    throw new Misuse(
      `${file} does not hold the phrase of a sandbox: bring it back from a backup, ` +
        'or remove it for new keys.',
    )
  }
  return phrase
}

/** All keys of a sandbox. Accounts of the tree: 0' customers' deposits, 1' owners, 2' hot keys, 3'
 *  accounts to try. */
export function deriveSandbox(phrase: string, pool_wallets = POOL_WALLETS): Sandbox {
  const root = HDKey.fromMasterSeed(mnemonicToSeedSync(phrase)).derive("m/44'/195'")
  const keyAt = (account: number, index: number): Key => {
    const { privateKey } = root.derive(`m/${account}'/0/${index}`)
    if (!privateKey) throw new Error('a derived key is missing')
    const private_key = bytesToHex(privateKey)
    return { address: addressOf(private_key), private_key }
  }
  const list = (account: number, length: number) =>
    Array.from({ length }, (_, index) => keyAt(account, index))
  const owners = list(1, pool_wallets + 2)
  const hot = list(2, pool_wallets + 2)
  const wallets = owners.map((owner, i): KeyedWallet => {
    return { address: owner.address, permission_id: 2, private_key: hot[i]!.private_key }
  })
  const refund = wallets.pop()!
  const activation = wallets.pop()!
  return {
    wallets: {
      pool: wallets,
      activation,
      refund,
      recharge_address: keyAt(4, 0).address,
      deposit_xpub: root.derive("m/0'").publicExtendedKey,
    },
    owners,
    funded_accounts: list(3, FUNDED_ACCOUNTS),
  }
}

export type ChainNeeds = { node: Node; control: Control; now: () => Date }

/** Brings the accounts of the sandbox onto the chain: funds, stakes, restricted keys. What is there
 *  stays. */
export async function prepareChain(needs: ChainNeeds, sandbox: Sandbox): Promise<void> {
  const { node, control } = needs
  const last = sandbox.funded_accounts.at(-1)!
  if ((await node.account(last.address)).active) return
  for (const [i, owner] of sandbox.owners.entries()) {
    if ((await node.account(owner.address)).active) continue
    const sun =
      i < sandbox.wallets.pool.length
        ? ENERGY_STAKE_SUN + BANDWIDTH_STAKE_SUN + FLOAT_SUN
        : FLOAT_SUN
    await fund(control, owner.address, sun)
  }
  await control('mine', { blocks: 1 })
  const { pool, activation, refund } = sandbox.wallets
  const roles = [
    ...pool.map((wallet) => ({ wallet, operations: DELEGATE_AND_RECLAIM })),
    { wallet: activation, operations: CREATE_ACCOUNTS },
    { wallet: refund, operations: TRANSFER },
  ]
  for (const [i, { wallet, operations }] of roles.entries()) {
    const owner = sandbox.owners[i]!
    if (operations === DELEGATE_AND_RECLAIM) {
      // A start that was interrupted may have staked already.
      const staked = await Promise.all([
        node.delegable(owner.address, 'energy'),
        node.delegable(owner.address, 'bandwidth'),
      ])
      if (staked[0] === 0n)
        await transact(needs, owner, freezing(owner, 'ENERGY', ENERGY_STAKE_SUN))
      if (staked[1] === 0n)
        await transact(needs, owner, freezing(owner, 'BANDWIDTH', BANDWIDTH_STAKE_SUN))
    }
    await transact(needs, owner, restricting(owner, addressOf(wallet.private_key), operations))
  }
  await control('mine', { blocks: 1 })
  for (const { address } of sandbox.funded_accounts) {
    await control('mint', { address, amount: Number(FUNDED_USDT) })
    await fund(control, address, FUNDED_SUN)
  }
  await control('mine', { blocks: 1 })
}

const fund = (control: Control, address: Address, sun: bigint) =>
  control('fund', { address, sun: Number(sun) })

type Operation = readonly [type: string, value: Message]

function freezing(owner: Key, resource: 'ENERGY' | 'BANDWIDTH', frozen_balance: bigint): Operation {
  return [
    'FreezeBalanceV2Contract',
    { owner_address: addressToHex(owner.address), frozen_balance, resource },
  ]
}

/** Keeps the owner's key and gives the hot key one active permission with the given bits. */
function restricting(owner: Key, hot: Address, operations: string): Operation {
  const key = (address: Address) => [{ address: addressToHex(address), weight: 1 }]
  return [
    'AccountPermissionUpdateContract',
    {
      owner_address: addressToHex(owner.address),
      owner: { type: 'Owner', permission_name: 'owner', threshold: 1, keys: key(owner.address) },
      actives: [
        { type: 'Active', id: 2, permission_name: 'hot', threshold: 1, operations, keys: key(hot) },
      ],
    },
  ]
}

export function paying(from: Key, to: Address, amount_sun: bigint): Operation {
  const value = {
    owner_address: addressToHex(from.address),
    to_address: addressToHex(to),
    amount: amount_sun,
  }
  return ['TransferContract', value]
}

/** A block that took long to come has a time past what was signed before it: that is signed
 *  again. */
const SIGNED_MAX = 10

/** Signs with the owner's key and broadcasts. Returns the transaction's id. Throws Outage when no
 *  node accepts it. What has expired meanwhile can be in no block any more, and is signed again: a
 *  busy machine makes its blocks late. */
export async function transact(
  needs: Omit<ChainNeeds, 'control'>,
  owner: Key,
  [type, value]: Operation,
): Promise<string> {
  for (let signed = 1; ; signed++) {
    const { tx_id, refused } = await signAndSend(needs, owner, contract(type, value))
    if (refused === undefined) return tx_id
    const expired = /TRANSACTION_EXPIRATION_ERROR|TAPOS_ERROR/.test(refused)
    if (!expired || signed >= SIGNED_MAX)
      throw new Outage(`the chain refuses a ${type}: ${refused}`)
  }
}

/** `refused`: what the nodes said, when none of them accepted it. */
async function signAndSend(
  { node, now }: Omit<ChainNeeds, 'control'>,
  owner: Key,
  operation: Contract,
) {
  const head = await node.head()
  const raw_data = encodeRawData({
    ref_block_bytes: head.id.slice(12, 16),
    ref_block_hash: head.id.slice(16, 32),
    expiration: head.time.getTime() + 60_000,
    timestamp: now().getTime(),
    contract: [operation],
  })
  const tx_id = transactionId(raw_data)
  const answers = await node.broadcast(
    encodeTransaction(raw_data, [sign(tx_id, owner.private_key)]),
  )
  const accepted = answers.some((answer) => answer.accepted)
  return { tx_id, refused: accepted ? undefined : answers.map((answer) => answer.said).join(' | ') }
}
