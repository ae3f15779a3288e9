// The conformance suite's read-only requests.

import assert from 'node:assert/strict'
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'
import { encode, message } from 'penstock-tron/protobuf.ts'
import {
  decodeRawData,
  encodeRawData,
  type RawData,
  transactionId,
} from 'penstock-tron/transaction.ts'
import { headerOf, type Json, numberOf, type Probe, stranger, timeOf } from './probe.ts'

export type Check = {
  readonly title: string
  run(probe: Probe): Promise<void>
  readonly needs_token?: true
}

const Header = message({
  timestamp: [1, 'int64'],
  txTrieRoot: [2, 'bytes'],
  parentHash: [3, 'bytes'],
  number: [7, 'int64'],
  witness_id: [8, 'int64'],
  witness_address: [9, 'bytes'],
  version: [10, 'int32'],
  accountStateRoot: [11, 'bytes'],
})

const HEX_64 = /^[0-9a-f]{64}$/
const PARSE_EXCEPTION = /^class org\.tron\.core\.services\.http\.JsonFormat\$ParseException : /
const VALIDATE_EXCEPTION = 'class org.tron.core.exception.ContractValidateException : '

/** The sun that makes up some whole number of TRX per unit. */
const asBigInt = (value: unknown) => BigInt((value ?? 0) as number | bigint)

export const readChecks: readonly Check[] = [
  {
    title: 'a block id is its number and the hash of its header, and names its parent',
    async run(probe) {
      const block = await probe.head()
      const header = headerOf(block)
      const number = numberOf(block)
      const digest = bytesToHex(sha256(encode(Header, header)))
      assert.equal(block.blockID, number.toString(16).padStart(16, '0') + digest.slice(16))
      const parent = (await probe.post('/wallet/getblockbynum', { num: number - 1 })).json
      assert.equal(parent.blockID, header.parentHash)
    },
  },
  {
    title: 'the solid block is at or behind the head and is the same block on both sides',
    async run(probe) {
      const solid = (await probe.get('/walletsolidity/getnowblock')).json
      assert.ok(numberOf(solid) <= numberOf(await probe.head()))
      const same = (await probe.post('/wallet/getblockbynum', { num: numberOf(solid) })).json
      assert.equal(same.blockID, solid.blockID)
    },
  },
  {
    title:
      'blocks are found by number, id, text and range; without detail there are no transactions',
    async run(probe) {
      const solid = (await probe.get('/walletsolidity/getnowblock')).json
      const [number, id] = [numberOf(solid), solid.blockID]
      for (const [name, body] of [
        ['getblockbynum', { num: number }],
        ['getblockbyid', { value: id }],
        ['getblock', { id_or_num: String(number), detail: true }],
        ['getblock', { id_or_num: id, detail: true }],
      ] as const) {
        assert.equal((await probe.post(`/wallet/${name}`, body)).json.blockID, id, name)
      }
      const bare = (await probe.post('/wallet/getblock', { id_or_num: String(number) })).json
      assert.deepEqual(Object.keys(bare).sort(), ['blockID', 'block_header'])
      const range = (
        await probe.post('/wallet/getblockbylimitnext', { startNum: number - 2, endNum: number })
      ).json
      assert.deepEqual(
        (range.block as Json[]).map((block) => numberOf(block)),
        [number - 2, number - 1],
      )
      const tooMany = { startNum: number - 101, endNum: number }
      assert.deepEqual((await probe.post('/wallet/getblockbylimitnext', tooMany)).json, {})
      assert.equal(
        ((await probe.post('/wallet/getblockbylatestnum', { num: 3 })).json.block as Json[]).length,
        3,
      )
    },
  },
  {
    title: 'what does not exist is an empty object',
    async run(probe) {
      const { hex } = stranger()
      assert.deepEqual((await probe.post('/wallet/getaccount', { address: hex })).json, {})
      assert.deepEqual((await probe.post('/wallet/getaccountresource', { address: hex })).json, {})
      assert.deepEqual((await probe.post('/walletsolidity/getaccount', { address: hex })).json, {})
      for (const name of ['gettransactionbyid', 'gettransactioninfobyid', 'getblockbyid']) {
        assert.deepEqual(
          (await probe.post(`/wallet/${name}`, { value: '00'.repeat(32) })).json,
          {},
          name,
        )
      }
      assert.deepEqual((await probe.post('/wallet/getcontract', { value: hex })).json, {})
    },
  },
  {
    title:
      'an account comes with text addresses when asked, with its permissions and three ' +
      'kinds of stake',
    async run(probe) {
      const { hex, address } = probe.me
      const hidden = (await probe.post('/wallet/getaccount', { address: hex })).json
      const visible = (await probe.post('/wallet/getaccount', { address, visible: true })).json
      const asked = (await probe.get(`/wallet/getaccount?address=${address}&visible=true`)).json
      assert.equal(hidden.address, hex)
      assert.equal(visible.address, address)
      assert.equal(asked.address, address)
      const stakes = hidden.frozenV2 as Json[]
      assert.deepEqual(
        stakes.map(({ type }) => type),
        [undefined, 'ENERGY', 'TRON_POWER'],
      )
      const owner = visible.owner_permission as Json
      assert.equal(typeof owner.threshold, 'number')
      assert.ok(Array.isArray(visible.active_permission))
    },
  },
  {
    title: 'the energy of a stake is its share of the pool, rounded down, in doubles',
    async run(probe) {
      const { hex } = probe.me
      const account = (await probe.post('/wallet/getaccount', { address: hex })).json
      const resources = (await probe.post('/wallet/getaccountresource', { address: hex })).json
      const { TotalEnergyLimit, TotalEnergyWeight, EnergyLimit = 0 } = resources
      const own = (account.frozenV2 as Json[]).find(({ type }) => type === 'ENERGY')?.amount
      const acquired = (account.account_resource as Json)
        .acquired_delegated_frozenV2_balance_for_energy
      const sun = Number(asBigInt(own) + asBigInt(acquired))
      const expected = Math.trunc(
        (sun / 1e6) * (Number(TotalEnergyLimit) / Number(TotalEnergyWeight)),
      )
      assert.equal(EnergyLimit, Number.isNaN(expected) ? 0 : expected)
      assert.ok(Number(resources.freeNetLimit) > 0)
    },
  },
  {
    title: 'chain parameters carry prices and fees; a parameter of zero has no value',
    async run(probe) {
      const { chainParameter } = (await probe.post('/wallet/getchainparameters')).json
      const list = new Map((chainParameter as Json[]).map(({ key, value }) => [key, value]))
      for (const key of [
        'getEnergyFee',
        'getTransactionFee',
        'getMaxFeeLimit',
        'getFreeNetLimit',
      ]) {
        assert.ok(Number(list.get(key)) > 0, key)
      }
      for (const value of list.values()) assert.notEqual(value, 0)
      const { prices } = (await probe.get('/wallet/getenergyprices')).json
      assert.equal(
        Number(String(prices).split(',').at(-1)!.split(':')[1]),
        list.get('getEnergyFee'),
      )
    },
  },
  {
    title:
      'a built transaction encodes to its own bytes and id, and refers to a block of the chain',
    async run(probe) {
      const wanted = { owner_address: probe.me.hex, to_address: stranger().hex, amount: 1 }
      const head = await probe.head()
      const built = (await probe.post('/wallet/createtransaction', wanted)).json
      assert.equal(built.visible, false)
      assert.match(String(built.txID), HEX_64)
      const raw = hexToBytes(String(built.raw_data_hex))
      assert.equal(transactionId(raw), built.txID)
      assert.equal(bytesToHex(encodeRawData(built.raw_data as RawData)), built.raw_data_hex)
      const { ref_block_bytes, ref_block_hash, expiration } = decodeRawData(raw)
      const low = Number.parseInt(ref_block_bytes, 16)
      const number = numberOf(head) + 1 - ((numberOf(head) + 1 - low) & 0xffff)
      const block = (await probe.post('/wallet/getblockbynum', { num: number })).json
      assert.equal(String(block.blockID).slice(16, 32), ref_block_hash)
      assert.ok(Number(expiration) > timeOf(head))
    },
  },
  {
    title:
      'what is wrong with a request or with what it builds is an Error with the class of ' +
      'the exception, status 200',
    async run(probe) {
      const { hex } = probe.me
      const bad = await probe.post('/wallet/getaccount', { address: 'zz' })
      assert.equal(bad.status, 200)
      assert.match(String(bad.json.Error), PARSE_EXCEPTION)
      const toSelf = { owner_address: hex, to_address: hex, amount: 1 }
      assert.equal(
        (await probe.post('/wallet/createtransaction', toSelf)).json.Error,
        `${VALIDATE_EXCEPTION}Cannot transfer TRX to yourself.`,
      )
      const nothing = { owner_address: hex, frozen_balance: 1, resource: 'ENERGY' }
      assert.equal(
        (await probe.post('/wallet/freezebalancev2', nothing)).json.Error,
        `${VALIDATE_EXCEPTION}frozenBalance must be greater than or equal to 1 TRX`,
      )
      const gone = stranger()
      const delegation = {
        owner_address: gone.hex,
        receiver_address: hex,
        balance: 1_000_000,
        resource: 'ENERGY',
      }
      assert.equal(
        (await probe.post('/wallet/delegateresource', delegation)).json.Error,
        `${VALIDATE_EXCEPTION}Account[${gone.hex}] not exists`,
      )
    },
  },
  {
    title: 'an endpoint that does not exist, and one that the solid side does not have, is 404',
    async run(probe) {
      assert.equal((await probe.get('/wallet/nosuchendpoint')).status, 404)
      assert.equal((await probe.get('/walletsolidity/getchainparameters')).status, 404)
    },
  },
  {
    title: 'addresses are judged by their form',
    async run(probe) {
      const judge = async (address: string) =>
        (await probe.post('/wallet/validateaddress', { address })).json
      assert.deepEqual(await judge(probe.me.address), {
        result: true,
        message: 'Base58check format',
      })
      assert.deepEqual(await judge(probe.me.hex), { result: true, message: 'Hex string format' })
      assert.equal((await judge('T')).result, false)
    },
  },
  {
    title:
      'witnesses are listed by rank with their votes and blocks, ' +
      'and lists of what nobody made are objects',
    async run(probe) {
      const page = (await probe.post('/wallet/getpaginatednowwitnesslist', { offset: 0, limit: 3 }))
        .json
      const votes = (page.witnesses as Json[]).map(({ voteCount }) => Number(voteCount))
      assert.equal(votes.length, 3)
      assert.deepEqual(
        votes,
        [...votes].sort((a, b) => b - a),
      )
      assert.ok(Number((page.witnesses as Json[])[0]!.latestBlockNum) > 0)
      assert.ok(Array.isArray((await probe.get('/wallet/listwitnesses')).json.witnesses))
      assert.ok(
        Number((await probe.get('/wallet/getnextmaintenancetime')).json.num) >
          timeOf(await probe.head()),
      )
      assert.equal((await probe.post('/wallet/listproposals')).status, 200)
    },
  },
  {
    title:
      'a token is asked without a transaction, and a contract that does not exist is said ' +
      'in its own shape',
    needs_token: true,
    async run(probe) {
      const ask = async (contract_address: string) => {
        const call = {
          owner_address: probe.me.address,
          contract_address,
          function_selector: 'decimals()',
        }
        return (
          await probe.post('/wallet/triggerconstantcontract', {
            ...call,
            parameter: '',
            visible: true,
          })
        ).json
      }
      const found = await ask(probe.token!)
      assert.deepEqual((found.result as Json).result, true)
      assert.match((found.constant_result as string[])[0]!, HEX_64)
      assert.ok(Number(found.energy_used) > 0)
      const missing = (await ask(stranger().address)).result as Json
      assert.equal(missing.code, 'CONTRACT_VALIDATE_ERROR')
    },
  },
]
