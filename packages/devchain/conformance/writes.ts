// The conformance suite's transactions. Altogether they cost some 25
// TRX, of which most are staked or sent to addresses that nobody has the key of; changing
// permissions costs 100 TRX more.

import assert from 'node:assert/strict'
import { sign } from 'penstock-tron/keys.ts'
import { type Json, numberOf, type Probe, stranger, timeOf, utf8Of } from './probe.ts'
import type { Check } from './reads.ts'

const TRX = 1_000_000n
const RESULT_BYTES = 64
const PERMISSION_TRX = 130n

export type WriteCheck = Check & {
  /** The account's balance that it needs. */
  readonly needs_sun: bigint
}

/** The bandwidth in a receipt: bytes of stake or of the free allowance, or TRX burned for
 *  them. */
function assertBandwidth(receipt: Json & { bytes: number }): void {
  const { net_usage, net_fee } = receipt.receipt as Json
  if (net_fee === undefined) assert.equal(net_usage, receipt.bytes + RESULT_BYTES)
  else assert.equal(Number(net_fee) % (receipt.bytes + RESULT_BYTES), 0)
}

/** The code and the words of a refused broadcast. */
async function refusal(
  probe: Probe,
  ...asked: Parameters<Probe['signed']>
): Promise<[unknown, unknown]> {
  const { code, message, result } = await probe.broadcast(await probe.signed(...asked))
  assert.equal(result, false)
  return [code, message]
}

const stake = { resource: 'ENERGY', frozen_balance: 3n * TRX }

async function row(probe: Probe, to: string): Promise<Json[]> {
  const body = { fromAddress: probe.me.hex, toAddress: to }
  return ((await probe.post('/wallet/getdelegatedresourcev2', body)).json.delegatedResource ??
    []) as Json[]
}

export const writeChecks: readonly WriteCheck[] = [
  {
    title:
      'a first transfer brings an address to life for 1 TRX and its bandwidth, ' +
      'and the next one is only its bytes',
    needs_sun: 6n * TRX,
    async run(probe) {
      const receiver = stranger()
      const born = await probe.settle('TransferContract', {
        to_address: receiver.hex,
        amount: 2n * TRX,
      })
      assert.ok(Number(born.fee) >= 1_000_000)
      assert.equal(await probe.balance(receiver), 2n * TRX)
      const before = await probe.balance(probe.me)
      const receipt = await probe.settle('TransferContract', {
        to_address: receiver.hex,
        amount: 1n,
      })
      assertBandwidth(receipt)
      assert.equal(
        before - (await probe.balance(probe.me)),
        1n + BigInt((receipt.fee ?? 0) as number),
      )
      assert.equal((receipt.receipt as Json).result, undefined)
      assert.deepEqual(receipt.contractResult, [''])
      const found = (await probe.post('/wallet/gettransactionbyid', { value: receipt.id })).json
      assert.deepEqual(found.ret, [{ contractRet: 'SUCCESS' }])
    },
  },
  {
    title: 'a transaction is on the solid side later, and the same there',
    needs_sun: 4n * TRX,
    async run(probe) {
      const { bytes: _, ...receipt } = await probe.settle('TransferContract', {
        to_address: stranger().hex,
        amount: TRX,
      })
      assert.deepEqual(await probe.receipt(String(receipt.id), 'walletsolidity'), receipt)
    },
  },
  {
    title:
      'a broadcast of JSON answers result and txid, a refused one code, ' +
      'txid and a hexadecimal message',
    needs_sun: 4n * TRX,
    async run(probe) {
      const { me } = probe
      const wanted = { owner_address: me.hex, to_address: stranger().hex, amount: Number(TRX) }
      const built = (await probe.post('/wallet/createtransaction', wanted)).json
      const unsigned = (await probe.post('/wallet/broadcasttransaction', built)).json
      assert.equal(unsigned.code, 'SIGERROR')
      assert.equal(unsigned.result, undefined)
      assert.equal(unsigned.txid, built.txID)
      assert.match(utf8Of(unsigned.message), /^Validate signature error: /i)
      const signed = { ...built, signature: [sign(String(built.txID), me.key)] }
      const taken = (await probe.post('/wallet/broadcasttransaction', signed)).json
      assert.deepEqual(taken, { result: true, txid: built.txID })
      const again = (await probe.post('/wallet/broadcasttransaction', signed)).json
      assert.equal(again.code, 'DUP_TRANSACTION_ERROR')
      await probe.receipt(String(built.txID), 'wallet')
    },
  },
  {
    title: 'what cannot be taken is refused with its code: reference, expiry, signature, sense',
    needs_sun: 2n * TRX,
    async run(probe) {
      const pay = { to_address: stranger().hex, amount: 1n }
      const head_ms = timeOf(await probe.head())
      assert.equal(
        (await refusal(probe, 'TransferContract', pay, { ref_block_hash: '00'.repeat(8) }))[0],
        'TAPOS_ERROR',
      )
      assert.equal(
        (await refusal(probe, 'TransferContract', pay, { expiration: head_ms - 60_000 }))[0],
        'TRANSACTION_EXPIRATION_ERROR',
      )
      assert.equal(
        (await refusal(probe, 'TransferContract', pay, { expiration: head_ms + 90_000_000 }))[0],
        'TRANSACTION_EXPIRATION_ERROR',
      )
      assert.equal(
        (await refusal(probe, 'TransferContract', pay, { signer: stranger() }))[0],
        'SIGERROR',
      )
      assert.equal(
        (await refusal(probe, 'TransferContract', pay, { permission_id: 7 }))[0],
        'SIGERROR',
      )
      assert.deepEqual(
        await refusal(probe, 'TransferContract', { ...pay, to_address: probe.me.hex }),
        ['CONTRACT_VALIDATE_ERROR', 'Contract validate error : Cannot transfer TRX to yourself.'],
      )
      assert.deepEqual(
        await refusal(probe, 'UnfreezeBalanceV2Contract', {
          resource: 'ENERGY',
          unfreeze_balance: -1n,
        }),
        ['CONTRACT_VALIDATE_ERROR', `Contract validate error : ${await stakeComplaint(probe)}`],
      )
    },
  },
  {
    title: 'a stake yields energy, is lent, held by its lock, taken back and unfrozen',
    needs_sun: 10n * TRX,
    async run(probe) {
      const receiver = stranger()
      await probe.settle('TransferContract', { to_address: receiver.hex, amount: TRX })
      assertBandwidth(await probe.settle('FreezeBalanceV2Contract', stake))
      const lent = { resource: 'ENERGY', receiver_address: receiver.hex, balance: TRX }
      await probe.settle('DelegateResourceContract', lent)
      const [open] = await row(probe, receiver.hex)
      assert.equal(open!.frozen_balance_for_energy, 1_000_000)
      assert.equal(open!.expire_time_for_energy, undefined)
      const { toAccounts } = (
        await probe.post('/wallet/getdelegatedresourceaccountindexv2', { value: probe.me.hex })
      ).json
      assert.ok((toAccounts as string[]).includes(receiver.hex))

      const { blockNumber } = await probe.settle('DelegateResourceContract', {
        ...lent,
        lock: true,
        lock_period: 1200n,
      })
      const parent = (await probe.post('/wallet/getblockbynum', { num: Number(blockNumber) - 1 }))
        .json
      const locked = (await row(probe, receiver.hex))[1]!
      assert.equal(locked.expire_time_for_energy, timeOf(parent) + 1200 * 3000)
      assert.deepEqual(
        await refusal(probe, 'UnDelegateResourceContract', { ...lent, balance: 2n * TRX }),
        [
          'CONTRACT_VALIDATE_ERROR',
          'Contract validate error : insufficient delegateFrozenBalance(Energy), ' +
            'request=2000000, unlock_balance=1000000',
        ],
      )
      await probe.settle('UnDelegateResourceContract', lent)
      assert.equal((await row(probe, receiver.hex)).length, 1)

      await probe.settle('UnfreezeBalanceV2Contract', { resource: 'ENERGY', unfreeze_balance: TRX })
      const account = (await probe.post('/wallet/getaccount', { address: probe.me.hex })).json
      const last = (account.unfrozenV2 as Json[]).at(-1)!
      assert.equal(last.type, 'ENERGY')
      assert.equal(last.unfreeze_amount, 1_000_000)
      const count = (
        await probe.post('/wallet/getavailableunfreezecount', { owner_address: probe.me.hex })
      ).json
      assert.equal(count.count, 32 - (account.unfrozenV2 as Json[]).length)
    },
  },
  {
    title:
      'a second delegation of one block with the same content is the same transaction; ' +
      'with another time it is not',
    needs_sun: 6n * TRX,
    async run(probe) {
      const receiver = stranger()
      await probe.settle('TransferContract', { to_address: receiver.hex, amount: TRX })
      const pay = { to_address: receiver.hex, amount: 1n }
      const timestamp = timeOf(await probe.head())
      const reference = { timestamp, expiration: timestamp + 60_000 }
      const one = await probe.signed('TransferContract', pay, reference)
      const two = await probe.signed('TransferContract', pay, {
        ...reference,
        timestamp: timestamp + 1,
      })
      assert.notEqual(one.id, two.id)
      for (const transaction of [one, two])
        assert.equal((await probe.broadcast(transaction)).result, true)
      assert.equal((await probe.broadcast(one)).code, 'DUP_TRANSACTION_ERROR')
      for (const { id } of [one, two]) await probe.receipt(id, 'wallet')
    },
  },
  {
    title: 'a memo costs its fee, and is hexadecimal whatever is visible',
    needs_sun: 5n * TRX,
    async run(probe) {
      const pay = { to_address: stranger().hex, amount: TRX }
      const receipt = await probe.settle('TransferContract', pay, { data: 'cafe' })
      const { chainParameter } = (await probe.post('/wallet/getchainparameters')).json
      const memo = (chainParameter as Json[]).find(({ key }) => key === 'getMemoFee')?.value ?? 0
      assert.ok(Number(receipt.fee) >= 1_000_000 + Number(memo))
      const asked = { value: receipt.id, visible: true }
      const found = (await probe.post('/wallet/gettransactionbyid', asked)).json
      assert.equal((found.raw_data as Json).data, 'cafe')
      assert.equal(
        numberOf((await probe.post('/wallet/getblockbynum', { num: receipt.blockNumber })).json),
        receipt.blockNumber,
      )
    },
  },
]

/** A node's first refusal of an unfreezing of nothing: it depends on whether there is a stake. */
async function stakeComplaint(probe: Probe): Promise<string> {
  const account = (await probe.post('/wallet/getaccount', { address: probe.me.hex })).json
  const amount = (account.frozenV2 as Json[]).find(({ type }) => type === 'ENERGY')?.amount
  return amount === undefined
    ? 'no frozenBalance(Energy)'
    : 'Invalid unfreeze_balance, [-1] is error'
}

/** Changes the permissions of a fresh account, since nobody would lend a key for that. */
export const permissionCheck: WriteCheck = {
  title: 'a key that may only delegate may delegate and nothing else, as getsignweight says before',
  needs_sun: PERMISSION_TRX * TRX,
  async run(probe) {
    const owner = stranger()
    const hot = stranger()
    await probe.settle('TransferContract', { to_address: owner.hex, amount: 120n * TRX })
    const keys = (hex: string) => [{ address: hex, weight: 1n }]
    const theirs = { owner_address: owner.hex }
    await probe.settle(
      'AccountPermissionUpdateContract',
      {
        ...theirs,
        owner: { type: 'Owner', permission_name: 'owner', threshold: 1n, keys: keys(owner.hex) },
        actives: [
          {
            type: 'Active',
            permission_name: 'delegator',
            threshold: 1n,
            operations: '0000000000000006'.padEnd(64, '0'),
            keys: keys(hot.hex),
          },
        ],
      },
      { signer: owner },
    )
    await probe.settle('FreezeBalanceV2Contract', { ...theirs, ...stake }, { signer: owner })
    const lent = { ...theirs, resource: 'ENERGY', receiver_address: probe.me.hex, balance: TRX }
    const asHot = { signer: hot, permission_id: 2 }
    await probe.settle('DelegateResourceContract', lent, asHot)
    await probe.settle('UnDelegateResourceContract', lent, asHot)
    const theft = { ...theirs, to_address: hot.hex, amount: 1n }
    assert.deepEqual(await refusal(probe, 'TransferContract', theft, asHot), [
      'SIGERROR',
      'Validate signature error: Permission denied',
    ])
    const built = (
      await probe.post('/wallet/createtransaction', { ...theft, amount: 1, Permission_id: 2 })
    ).json
    const judged = (await probe.post('/wallet/getsignweight', built)).json.result as Json
    assert.deepEqual(judged, { code: 'PERMISSION_ERROR', message: 'Permission denied!' })
  },
}
