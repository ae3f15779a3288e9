// Accounts over HTTP. Usage is printed as it has faded by now; times of use are milliseconds,
// though kept in slots.

import { isAddress } from 'penstock-tron/address.ts'
import { assetOf } from '../contracts/assets.ts'
import { accountById } from '../contracts/names.ts'
import { tronPower, votesCast } from '../contracts/witnesses.ts'
import { printAddress, printText, readHex, readText } from '../http/messages.ts'
import { type Call, contextOf, type Routes, viewOf } from '../http/routes.ts'
import { accountOf, permissionsOf } from '../state/accounts.ts'
import { type Json, type JsonObject, withoutDefaults } from '../state/json.ts'
import { SUN_PER_TRX } from '../state/parameters.ts'
import type { Account, Permission } from '../state/records.ts'
import {
  fadedFreeUsage,
  fadedUsage,
  increaseUsage,
  limitOfAccount,
  supplyOf,
} from '../state/resources.ts'
import { totalsOf } from '../state/state.ts'

export function printPermission(permission: Permission, visible: boolean): JsonObject {
  const { type, id, name, threshold, operations, keys } = permission
  return withoutDefaults({
    type: type === 'Owner' ? undefined : type,
    id,
    permission_name: name,
    threshold,
    operations,
    keys: keys.map(({ address, weight }) => ({ address: printAddress(address, visible), weight })),
  })
}

function printPermissions(account: Account, visible: boolean): JsonObject {
  const { owner, witness, actives } = permissionsOf(account)
  return {
    owner_permission: printPermission(owner, visible),
    ...(witness ? { witness_permission: printPermission(witness, visible) } : {}),
    active_permission: actives.map((active) => printPermission(active, visible)),
  }
}

function printStakes({ frozen, unfreezing }: Account): JsonObject {
  return {
    frozenV2: [
      withoutDefaults({ amount: frozen.BANDWIDTH }),
      { type: 'ENERGY', ...withoutDefaults({ amount: frozen.ENERGY }) },
      { type: 'TRON_POWER', ...withoutDefaults({ amount: frozen.TRON_POWER }) },
    ],
    ...withoutDefaults({
      unfrozenV2: unfreezing.map(({ resource, sun, expires_at_ms }) => ({
        ...(resource === 'BANDWIDTH' ? {} : { type: resource }),
        unfreeze_amount: sun,
        unfreeze_expire_time: expires_at_ms,
      })),
    }),
  }
}

/** The TRC10 tokens that an account holds, and the one that it issued. */
function printAssets(
  call: Call,
  { assets = {}, asset_issued, frozen_supply = [] }: Account,
): JsonObject {
  const { visible } = call.given
  const issued = asset_issued === undefined ? undefined : assetOf(viewOf(call), asset_issued)
  return {
    assetV2: Object.entries(assets).map(([key, value]) => ({ key, value })),
    frozen_supply: frozen_supply.map(({ amount, expires_at_ms }) => ({
      frozen_balance: amount,
      expire_time: expires_at_ms,
    })),
    asset_issued_name: issued && printText(String(issued.name), visible),
    asset_issued_ID: issued && printText(readText(issued.id), visible),
  }
}

function printAccount(call: Call, account: Account): Json {
  const { slot } = contextOf(call)
  const { given } = call
  const { delegated, acquired, free_net } = account
  const text = (hex = '') => printText(hex, given.visible)
  const timeOf = (used_at_slot: number) => call.chain.calendar.timeOf(used_at_slot)
  const net = increaseUsage(account.net, 0, slot)
  const energy = increaseUsage(account.energy, 0, slot)
  return {
    address: given.print(account.address),
    ...withoutDefaults({
      account_name: text(account.name),
      type: account.type === 'Normal' ? undefined : account.type,
      balance: account.balance,
      votes: account.votes?.map(({ address, count }) => ({
        vote_address: given.print(address),
        vote_count: count,
      })),
      ...printAssets(call, account),
      allowance: account.allowance,
      latest_withdraw_time: account.withdrew_at_ms,
      create_time: account.created_at_ms,
      latest_opration_time: account.operated_at_ms,
      is_witness: account.is_witness,
      net_usage: net.amount,
      free_net_usage: fadedFreeUsage(free_net.amount, free_net.slot, slot),
      latest_consume_time: timeOf(account.net.slot),
      latest_consume_free_time: timeOf(free_net.slot),
      account_id: text(account.id),
      net_window_size: net.window,
      net_window_optimized: net.optimized,
      delegated_frozenV2_balance_for_bandwidth: delegated.BANDWIDTH,
      acquired_delegated_frozenV2_balance_for_bandwidth: acquired.BANDWIDTH,
    }),
    account_resource: withoutDefaults({
      energy_usage: energy.amount,
      latest_consume_time_for_energy: timeOf(account.energy.slot),
      energy_window_size: energy.window,
      energy_window_optimized: energy.optimized,
      delegated_frozenV2_balance_for_energy: delegated.ENERGY,
      acquired_delegated_frozenV2_balance_for_energy: acquired.ENERGY,
    }),
    ...printPermissions(account, call.given.visible),
    ...printStakes(account),
  }
}

function printBandwidth(call: Call, account: Account): JsonObject {
  const { state, parameters, slot } = contextOf(call)
  const net = supplyOf('BANDWIDTH', totalsOf(state), parameters)
  return withoutDefaults({
    freeNetUsed: fadedFreeUsage(account.free_net.amount, account.free_net.slot, slot),
    freeNetLimit: parameters.getFreeNetLimit,
    NetUsed: fadedUsage(account.net, slot),
    NetLimit: limitOfAccount(state, account, 'BANDWIDTH', parameters),
    TotalNetLimit: net.limit,
    TotalNetWeight: net.weight,
  })
}

function printResources(call: Call, account: Account): JsonObject {
  const { state, parameters, slot } = contextOf(call)
  const energy = supplyOf('ENERGY', totalsOf(state), parameters)
  return {
    ...printBandwidth(call, account),
    ...withoutDefaults({
      tronPowerUsed: votesCast(account),
      tronPowerLimit: tronPower(account) / SUN_PER_TRX,
      EnergyUsed: fadedUsage(account.energy, slot),
      EnergyLimit: limitOfAccount(state, account, 'ENERGY', parameters),
      TotalEnergyLimit: energy.limit,
      TotalEnergyWeight: energy.weight,
    }),
  }
}

/** An endpoint that prints one account, and `{}` when it is not activated. */
function ofAccount(print: (call: Call, account: Account) => Json) {
  return {
    answer(call: Call): Json {
      const account = accountOf(viewOf(call), call.given.address('address'))
      return account ? print(call, account) : {}
    },
  }
}

/** Whether text is an address, in any of the three forms that the node knows. */
function validateAddress({ given }: Call): Json {
  const address = given.text('address')
  const judge = (result: boolean, message: string) => ({
    result,
    message: result ? message : 'Invalid address',
  })
  if (address.length === 42) return judge(/^41[0-9a-fA-F]{40}$/.test(address), 'Hex string format')
  if (address.length === 34) return judge(isAddress(address), 'Base58check format')
  if (address.length === 28) {
    const bytes = Buffer.from(address, 'base64')
    return judge(bytes.length === 21 && bytes[0] === 0x41, 'Base64 format')
  }
  return { result: false, message: 'Length error' }
}

function findById(call: Call): Json {
  const { given } = call
  const id = given.text('account_id')
  const account = accountById(viewOf(call), given.visible ? readText(id) : readHex(id))
  return account ? printAccount(call, account) : {}
}

export const accountRoutes: Routes = {
  getaccountbyid: { answer: findById },
  getaccount: ofAccount(printAccount),
  getaccountresource: ofAccount(printResources),
  getaccountnet: ofAccount(printBandwidth),
  validateaddress: { answer: validateAddress },
}
