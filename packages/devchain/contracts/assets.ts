// TRC10: tokens that the protocol itself keeps. An account issues one at most, sells it for TRX
// during a time that it names, and may hold part of the supply back for days. Transfers look like
// those of TRX and are none: anyone who takes deposits has to tell them apart.

import { hexToBytes } from '@noble/hashes/utils.js'
import type { Message } from 'penstock-tron/protobuf.ts'
import {
  accountOf,
  adjustBalance,
  burn,
  isAddressHex,
  newAccount,
  requireAccount,
  writeAccount,
} from '../state/accounts.ts'
import { type Contract, integerOf, textOf } from '../state/execution_context.ts'
import { DAY_MS } from '../state/parameters.ts'
import type { Account, Asset } from '../state/records.ts'
import { invalid } from '../state/refusal.ts'
import type { Layer, View } from '../state/state.ts'

const FIRST_ID = 1_000_001
const NET_OF_A_DAY = 57_600_000_000n
const FROZEN_DAYS_MAX = 3652n
const FROZEN_LIST_MAX = 10
const INT64_MAX = 2n ** 63n - 1n

const IDS = 'assets'

/** The TRC10 token of an id, as its digits. */
export const assetOf = (view: View, id: string): Asset | undefined => view.read('asset', id)

/** All TRC10 tokens, in the order in which they were issued. */
export const assetsOf = (view: View): Asset[] =>
  (view.read('register', IDS) ?? []).map((id) => assetOf(view, id) as Asset)

const utf8Of = (hex: string): string => new TextDecoder().decode(hexToBytes(hex))

/** An account's balance of a token. */
export const assetBalance = ({ assets }: Pick<Account, 'assets'>, id: string): bigint =>
  assets?.[id] ?? 0n

/** Adds to what an account holds of a token, or takes from it. */
export function addAsset(state: Layer, address: string, id: string, amount: bigint): void {
  const account = requireAccount(state, address)
  writeAccount(state, {
    ...account,
    assets: { ...account.assets, [id]: assetBalance(account, id) + amount },
  })
}

/** 1 to 32 printable characters of ASCII, without spaces. */
function isName(hex: string): boolean {
  const bytes = hexToBytes(hex)
  return (
    bytes.length > 0 && bytes.length <= 32 && bytes.every((byte) => byte >= 0x21 && byte <= 0x7e)
  )
}

function checkTexts(message: Message): void {
  const url_bytes = textOf(message, 'url').length / 2
  if (url_bytes === 0 || url_bytes > 256) throw invalid('Invalid url')
  if (textOf(message, 'description').length / 2 > 200) throw invalid('Invalid description')
}

function checkNetLimits(free: bigint, free_for_all: bigint): void {
  if (free < 0n || free >= NET_OF_A_DAY) throw invalid('Invalid FreeAssetNetLimit')
  if (free_for_all < 0n || free_for_all >= NET_OF_A_DAY)
    throw invalid('Invalid PublicFreeAssetNetLimit')
}

const frozenSupplyOf = (message: Message) =>
  ((message.frozen_supply ?? []) as Message[]).map((one) => ({
    amount: integerOf(one, 'frozen_amount'),
    days: integerOf(one, 'frozen_days'),
  }))

function checkSupply(message: Message): void {
  let left = integerOf(message, 'total_supply')
  if (left <= 0n) throw invalid('TotalSupply must greater than 0!')
  if (integerOf(message, 'trx_num') <= 0n) throw invalid('TrxNum must greater than 0!')
  if (integerOf(message, 'num') <= 0n) throw invalid('Num must greater than 0!')
  if (integerOf(message, 'public_free_asset_net_usage') !== 0n)
    throw invalid('PublicFreeAssetNetUsage must be 0!')
  const frozen = frozenSupplyOf(message)
  if (frozen.length > FROZEN_LIST_MAX) throw invalid('Frozen supply list length is too long')
  checkNetLimits(
    integerOf(message, 'free_asset_net_limit'),
    integerOf(message, 'public_free_asset_net_limit'),
  )
  for (const { amount, days } of frozen) {
    if (amount <= 0n) throw invalid('Frozen supply must be greater than 0!')
    if (amount > left) throw invalid('Frozen supply cannot exceed total supply')
    if (days < 1n || days > FROZEN_DAYS_MAX) {
      throw invalid(`frozenDuration must be less than ${FROZEN_DAYS_MAX} days and more than 1 days`)
    }
    left -= amount
  }
}

function checkSale(message: Message, now_ms: number): void {
  const start = integerOf(message, 'start_time')
  const end = integerOf(message, 'end_time')
  if (start === 0n) throw invalid('Start time should be not empty')
  if (end === 0n) throw invalid('End time should be not empty')
  if (end <= start) throw invalid('End time should be greater than start time')
  if (start <= BigInt(now_ms)) throw invalid('Start time should be greater than HeadBlockTime')
}

export const issueAsset: Contract = {
  validate({ state, parameters, now_ms }, message) {
    const owner = textOf(message, 'owner_address')
    const name = textOf(message, 'name')
    const precision = integerOf(message, 'precision')
    if (!isAddressHex(owner)) throw invalid('Invalid ownerAddress')
    if (!isName(name)) throw invalid('Invalid assetName')
    if (utf8Of(name).toLowerCase() === 'trx') throw invalid("assetName can't be trx")
    if (precision < 0n || precision > 6n) throw invalid('precision cannot exceed 6')
    if (message.abbr && !isName(textOf(message, 'abbr')))
      throw invalid('Invalid abbreviation for token')
    checkTexts(message)
    checkSale(message, now_ms)
    checkSupply(message)
    const account = accountOf(state, owner)
    if (!account) throw invalid('Account not exists')
    if (account.asset_issued !== undefined) throw invalid('An account can only issue one asset')
    if (account.balance < BigInt(parameters.getAssetIssueFee))
      throw invalid('No enough balance for fee!')
  },

  execute({ state, parameters }, message) {
    const owner = textOf(message, 'owner_address')
    const fee_sun = BigInt(parameters.getAssetIssueFee)
    const ids = state.read('register', IDS) ?? []
    const asset_id = String(FIRST_ID + ids.length)
    state.write('register', IDS, [...ids, asset_id])
    state.write('asset', asset_id, { ...message, id: asset_id } as Asset)
    burn(state, owner, fee_sun)
    const frozen = frozenSupplyOf(message)
    const held_back = frozen.reduce((sum, { amount }) => sum + amount, 0n)
    const start_ms = Number(integerOf(message, 'start_time'))
    writeAccount(state, {
      ...requireAccount(state, owner),
      asset_issued: asset_id,
      frozen_supply: frozen.map(({ amount, days }) => ({
        amount,
        expires_at_ms: start_ms + Number(days) * DAY_MS,
      })),
    })
    addAsset(state, owner, asset_id, integerOf(message, 'total_supply') - held_back)
    return { fee_sun, asset_id }
  },
}

/** The id that a message names; its bytes are the digits of the id. */
export const assetIdOf = (message: Message) => utf8Of(textOf(message, 'asset_name'))

export const transferAsset: Contract = {
  validate({ state, parameters }, message) {
    const owner = textOf(message, 'owner_address')
    const to = textOf(message, 'to_address')
    const amount = integerOf(message, 'amount')
    const id = assetIdOf(message)
    if (!isAddressHex(owner)) throw invalid('Invalid ownerAddress')
    if (!isAddressHex(to)) throw invalid('Invalid toAddress')
    if (amount <= 0n) throw invalid('Amount must be greater than 0.')
    if (owner === to) throw invalid('Cannot transfer asset to yourself.')
    const sender = accountOf(state, owner)
    if (!sender) throw invalid('No owner account!')
    if (!assetOf(state, id)) throw invalid('No asset!')
    const held = assetBalance(sender, id)
    if (held <= 0n) throw invalid('assetBalance must be greater than 0.')
    if (amount > held) throw invalid('assetBalance is not sufficient.')
    if (accountOf(state, to)) return
    if (sender.balance < BigInt(parameters.getCreateNewAccountFeeInSystemContract)) {
      throw invalid('Validate TransferAssetActuator error, insufficient fee.')
    }
  },

  execute({ state, parameters, now_ms }, message) {
    const owner = textOf(message, 'owner_address')
    const to = textOf(message, 'to_address')
    const amount = integerOf(message, 'amount')
    let fee_sun = 0n
    if (!accountOf(state, to)) {
      writeAccount(state, newAccount(to, now_ms))
      fee_sun = BigInt(parameters.getCreateNewAccountFeeInSystemContract)
      burn(state, owner, fee_sun)
    }
    addAsset(state, owner, assetIdOf(message), -amount)
    addAsset(state, to, assetIdOf(message), amount)
    return { fee_sun }
  },
}

/** How much of a token so many sun buy. */
const bought = (asset: Asset, sun: bigint) =>
  (sun * integerOf(asset, 'num')) / integerOf(asset, 'trx_num')

export const participate: Contract = {
  validate({ state, now_ms }, message) {
    const owner = textOf(message, 'owner_address')
    const to = textOf(message, 'to_address')
    const sun = integerOf(message, 'amount')
    if (!isAddressHex(owner)) throw invalid('Invalid ownerAddress')
    if (!isAddressHex(to)) throw invalid('Invalid toAddress')
    if (sun <= 0n) throw invalid('Amount must greater than 0!')
    if (owner === to) throw invalid('Cannot participate asset Issue yourself !')
    const buyer = accountOf(state, owner)
    if (!buyer) throw invalid('Account does not exist!')
    if (buyer.balance < sun) throw invalid('No enough balance !')
    const asset = assetOf(state, assetIdOf(message))
    if (!asset) throw invalid(`No asset named ${assetIdOf(message)}`)
    if (asset.owner_address !== to) throw invalid(`The asset is not issued by ${to}`)
    if (
      BigInt(now_ms) >= integerOf(asset, 'end_time') ||
      BigInt(now_ms) < integerOf(asset, 'start_time')
    ) {
      throw invalid('No longer valid period!')
    }
    const amount = bought(asset, sun)
    if (amount > INT64_MAX) throw invalid('long overflow')
    if (amount <= 0n) throw invalid('Can not process the exchange!')
    if (assetBalance(requireAccount(state, to), asset.id) < amount)
      throw invalid('Asset balance is not enough !')
  },

  execute({ state }, message) {
    const owner = textOf(message, 'owner_address')
    const to = textOf(message, 'to_address')
    const sun = integerOf(message, 'amount')
    const asset = assetOf(state, assetIdOf(message))!
    adjustBalance(state, owner, -sun)
    adjustBalance(state, to, sun)
    addAsset(state, to, asset.id, -bought(asset, sun))
    addAsset(state, owner, asset.id, bought(asset, sun))
    return { fee_sun: 0n }
  },
}

export const updateAsset: Contract = {
  validate({ state }, message) {
    const owner = textOf(message, 'owner_address')
    if (!isAddressHex(owner)) throw invalid('Invalid ownerAddress')
    const account = accountOf(state, owner)
    if (!account) throw invalid('Account does not exist')
    if (account.asset_issued === undefined) throw invalid('Account has not issued any asset')
    checkTexts(message)
    checkNetLimits(integerOf(message, 'new_limit'), integerOf(message, 'new_public_limit'))
  },

  execute({ state }, message) {
    const id = requireAccount(state, textOf(message, 'owner_address')).asset_issued!
    state.write('asset', id, {
      ...assetOf(state, id)!,
      description: textOf(message, 'description'),
      url: textOf(message, 'url'),
      free_asset_net_limit: integerOf(message, 'new_limit'),
      public_free_asset_net_limit: integerOf(message, 'new_public_limit'),
    })
    return { fee_sun: 0n }
  },
}

export const unfreezeAsset: Contract = {
  validate({ state, now_ms }, message) {
    const owner = textOf(message, 'owner_address')
    if (!isAddressHex(owner)) throw invalid('Invalid address')
    const account = accountOf(state, owner)
    if (!account) throw invalid(`Account[${owner}] does not exist`)
    const { frozen_supply = [] } = account
    if (frozen_supply.length === 0) throw invalid('no frozen supply balance')
    if (!frozen_supply.some(({ expires_at_ms }) => expires_at_ms <= now_ms)) {
      throw invalid("It's not time to unfreeze asset supply")
    }
  },

  execute({ state, now_ms }, message) {
    const account = requireAccount(state, textOf(message, 'owner_address'))
    const supply = account.frozen_supply!
    const due = supply.filter(({ expires_at_ms }) => expires_at_ms <= now_ms)
    writeAccount(state, { ...account, frozen_supply: supply.filter((one) => !due.includes(one)) })
    const amount = due.reduce((sum, one) => sum + one.amount, 0n)
    addAsset(state, account.address, account.asset_issued!, amount)
    return { fee_sun: 0n }
  },
}
