// Stakes and delegations over HTTP.

import { delegatable, delegationOf, partnersOf } from '../contracts/delegations.ts'
import { availableUnfreezeCount, withdrawableAt } from '../contracts/staking.ts'
import { type Call, contextOf, newestOf, type Routes, viewOf } from '../http/routes.ts'
import { accountOf, isAddressHex } from '../state/accounts.ts'
import { type Json, withoutDefaults } from '../state/json.ts'
import { SUN_PER_TRX } from '../state/parameters.ts'

/** The unlocked and the locked row of a pair; an unlocked row has no expiry. */
function delegatedResource(call: Call): Json {
  const { given } = call
  const from = given.address('fromAddress')
  const to = given.address('toAddress')
  const rows = [false, true].flatMap((locked) => delegationOf(viewOf(call), from, to, locked) ?? [])
  return withoutDefaults({
    delegatedResource: rows.map(({ sun, expires_at_ms }) => ({
      from: given.print(from),
      to: given.print(to),
      ...withoutDefaults({
        frozen_balance_for_bandwidth: sun.BANDWIDTH,
        frozen_balance_for_energy: sun.ENERGY,
        expire_time_for_bandwidth: expires_at_ms.BANDWIDTH,
        expire_time_for_energy: expires_at_ms.ENERGY,
      }),
    })),
  })
}

function delegationPartners(call: Call): Json {
  const { given } = call
  const address = given.address('value')
  if (!isAddressHex(address)) return {}
  const { from, to } = partnersOf(viewOf(call), address)
  return {
    account: given.print(address),
    ...withoutDefaults({
      fromAccounts: from.map((partner) => given.print(partner)),
      toAccounts: to.map((partner) => given.print(partner)),
    }),
  }
}

function canDelegateMaxSize(call: Call): Json {
  const context = contextOf(call, true)
  const account = accountOf(context.state, call.given.address('owner_address'))
  const type = call.given.number('type')
  if (!account || (type !== 0 && type !== 1)) return {}
  const sun = delegatable(context, account, type === 1 ? 'ENERGY' : 'BANDWIDTH')
  return sun < SUN_PER_TRX ? {} : { max_size: sun }
}

function canWithdrawAmount(call: Call): Json {
  const account = accountOf(viewOf(call), call.given.address('owner_address'))
  if (!account) return {}
  const at_ms = call.given.number('timestamp') || newestOf(call).header.timestamp
  return withoutDefaults({ amount: withdrawableAt(account, at_ms) })
}

function unfreezeCount(call: Call): Json {
  const account = accountOf(viewOf(call), call.given.address('owner_address'))
  return account
    ? withoutDefaults({ count: availableUnfreezeCount(account, newestOf(call).header.timestamp) })
    : {}
}

export const stakeRoutes: Routes = {
  getdelegatedresourcev2: { answer: delegatedResource },
  getdelegatedresourceaccountindexv2: { answer: delegationPartners },
  getcandelegatedmaxsize: { answer: canDelegateMaxSize },
  getavailableunfreezecount: { answer: unfreezeCount },
  getcanwithdrawunfreezeamount: { answer: canWithdrawAmount },
}
