// What the service knows of a wallet; and hot keys and their permissions on the chain: looking at
// them, giving one its permission, taking it away. The latter needs no database: it is done before
// a service runs, or while nobody trusts it.

import type { Address } from 'penstock-tron/address.ts'
import { addressOf, sign } from 'penstock-tron/keys.ts'
import { encodeTransaction } from 'penstock-tron/transaction.ts'
import { Type } from 'typebox'
import type { Node } from '../../chain/node/node.ts'
import {
  forbid,
  type Permissions,
  permit,
  updateBytes,
} from '../../chain/wallets/permission_update.ts'
import { KINDS, lookAtKeys } from '../../chain/wallets/permissions.ts'
import { findWalletCheck } from '../../chain/wallets/wallet_watch.ts'
import { misuse, refusal } from '../../lib/fault.ts'
import { poolWallets } from '../../market/pool/figures.ts'
import { CARRIES_MIN } from '../../market/pool/pool.ts'
import {
  address,
  Count,
  Flag,
  flag,
  ListOf,
  Moment,
  NOTHING,
  OrNull,
  oneOf,
  optional,
  Sun,
  Text,
  Whole,
  whole,
} from '../../platform/wire/schemas.ts'
import { local, look } from '../table/operation.ts'
import { BATCH_OUTCOME, sendBatch, signedBatch } from './batches.ts'
import {
  CARRIED,
  carriedText,
  carry,
  describe,
  FILE,
  hours,
  OUT,
  PreparedUpdate,
  prepared,
  readFileOf,
  updateText,
} from './carried.ts'
import { stakeOperations } from './stakes.ts'

/** The permissions of an account on which all nodes agree. Throws Refused. */
async function permissionsOf(node: Node, of: Address): Promise<Permissions> {
  const states = await node.accountEverywhere(of)
  const [first, ...others] = states.map(({ owner, witness, permissions }) => ({
    owner,
    witness,
    permissions,
  }))
  const textOf = (one: unknown) =>
    JSON.stringify(one, (_key, value) => (typeof value === 'bigint' ? `${value}` : value))
  if (others.some((one) => textOf(one) !== textOf(first)))
    throw refusal('The nodes do not agree about its permissions.')
  if (!states.every(({ active }) => active)) throw refusal(`${of} is not active on the chain.`)
  return first!
}

/** What was read from standard input. Throws misuse when it is no key. */
function privateKey(given: string): string {
  const key = given.trim()
  if (/^[0-9a-f]{64}$/.test(key)) return key
  throw misuse('Standard input has no key: 64 hexadecimal characters.')
}

export const walletOperations = [
  look({
    path: '/operator/wallets/show',
    summary: 'a wallet of the pool: what it can deliver and pay for, and what its key may do',
    description:
      '`carries` is how many transactions it can pay for beyond those that take back what is ' +
      'out: below `carries_min` nothing is sold from it. `key` is null until a process that has ' +
      'the key has looked at its permission on the chain.',
    body: Type.Object({ wallet: address('the address of the wallet') }),
    reply: Type.Object({
      address: Text,
      carries_min: Whole,
      resources: ListOf({
        address: Text,
        resource: Text,
        room_sun: Sun,
        carries: Whole,
        out_sun: Sun,
        delegations: Whole,
        surveyed_at_block: Whole,
      }),
      key: OrNull(
        Type.Object({
          checked_at: Moment,
          complaints: Type.Array(Text),
          stopped: Flag,
          stopped_here: Flag,
        }),
      ),
    }),
    cli: { operands: ['wallet'] },
    async handle({ sql, body: { wallet: address } }) {
      const resources = await poolWallets(sql, address)
      const key = (await findWalletCheck(sql, address)) ?? null
      if (resources.length === 0 && key === null)
        throw refusal(`${address} is no wallet of this service, or it was never surveyed.`)
      return { value: { address, carries_min: CARRIES_MIN, resources, key } }
    },
  }),
  local({
    path: '/operator/wallets/check',
    summary: 'whether each hot key can do what it is for, and nothing else',
    description:
      'Of the file that PENSTOCK_WALLETS names, as a worker has it. The exit code is 1 when ' +
      'something is wrong.',
    body: NOTHING,
    reply: Type.Object({
      wallets: ListOf({
        address: Text,
        permission_id: Count,
        hot_key: OrNull(Text),
        balance_sun: Sun,
        staked_sun: Sun,
      }),
      complaints: Type.Array(Text),
    }),
    cli: { node: 'plain' },
    async handle(needs) {
      const node = needs.node()
      const of = await needs.wallets()
      const { pool, activation, refund, votes = [] } = of
      const lines = [...pool, activation, ...(refund ? [refund] : []), ...votes]
      if (lines.every(({ private_key }) => private_key === undefined)) {
        throw refusal('The file has no private keys: there is nothing to look for on the chain.')
      }
      const { complaints } = await lookAtKeys(node, of)
      const wallets = await Promise.all(
        lines.map(async (line) => {
          const { balance_sun, staked_sun } = await node.account(line.address)
          const hot_key = line.private_key === undefined ? null : addressOf(line.private_key)
          return {
            address: line.address,
            permission_id: line.permission_id,
            hot_key,
            balance_sun,
            staked_sun: staked_sun.energy + staked_sun.bandwidth,
          }
        }),
      )
      const said = complaints.map(({ said }) => said)
      const ok = said.length === 0
      const note = ok ? 'Each key can do what it is for, and nothing else.' : said.join('\n')
      return { value: { wallets, complaints: said }, note, ok }
    },
  }),
  local({
    path: '/operator/wallets/permit',
    summary: 'prepare the transaction that gives a hot key its permission',
    description:
      'Nothing is sent. All other permissions stay as they are. It is signed by wallets sign.',
    body: Type.Object({
      address: address('the wallet'),
      kind: oneOf(KINDS, 'what the key is for'),
      hot_key: address('the address of the hot key'),
      spare_key: optional(
        Type.Array(address('another key that may do the same, while keys are being changed')),
      ),
      permission_id: optional(whole('N', 'the permission to replace', { min: 2, max: 9 })),
      hours,
    }),
    reply: Type.Object({ permission_id: Count, ...PreparedUpdate }),
    cli: {
      operands: ['address'],
      extras: OUT,
      node: 'plain',
      text: updateText,
      after: (answer, { file }, terminal) => carry(answer, file, terminal),
    },
    async handle({ body, ...needs }) {
      const node = needs.node()
      const of = body.address as Address
      const { kind, permission_id, hours } = body
      const keys = [body.hot_key, ...(body.spare_key ?? [])] as Address[]
      const [first, ...spare_keys] = keys
      const wanted = { kind, hot_key: first!, spare_keys, permission_id }
      const made = permit(await permissionsOf(node, of), wanted)
      const { value, documents } = await prepared(node, hours, (valid) =>
        updateBytes(of, made.next, valid),
      )
      return { value: { permission_id: made.permission_id, ...value }, documents }
    },
  }),
  local({
    path: '/operator/wallets/forbid',
    summary: 'prepare the transaction that takes every permission of a key away',
    description: 'Nothing is sent. All other keys stay as they are. It is signed by wallets sign.',
    body: Type.Object({
      address: address('the wallet'),
      hot_key: address('the address of the key'),
      hours,
    }),
    reply: Type.Object(PreparedUpdate),
    cli: {
      operands: ['address'],
      extras: OUT,
      node: 'plain',
      text: updateText,
      after: (answer, { file }, terminal) => carry(answer, file, terminal),
    },
    async handle({ body, ...needs }) {
      const node = needs.node()
      const of = body.address as Address
      const next = forbid(await permissionsOf(node, of), body.hot_key as Address)
      return prepared(node, body.hours, (valid) => updateBytes(of, next, valid))
    },
  }),
  ...stakeOperations,
  local({
    path: '/operator/wallets/sign',
    summary: "sign such a transaction with an owner's key, which is read from standard input",
    description:
      'It asks no node and needs no network. What it prints comes from the bytes that are ' +
      'signed. A batch of treasury collect is signed with the words of the deposit wallet, and ' +
      'only when each receiver is in collect_to of the file that PENSTOCK_WALLETS names.',
    takes: 'secret',
    body: Type.Object(CARRIED),
    reply: Type.Object({
      tx_id: optional(Text),
      digest: optional(Text),
      signed_by: optional(Text),
      signatures: Count,
      expires_at: Moment,
      says: Type.Array(Text),
    }),
    cli: {
      operands: ['file'],
      extras: FILE,
      filled: ['transaction', 'batch'],
      text: updateText,
      before: readFileOf,
      async after(answer, { file }, terminal) {
        await terminal.writeFile(file, answer.documents!.transaction!())
        const note = `Send it where a node can be reached: wallets broadcast ${file}.`
        return { ...answer, note }
      },
    },
    async handle({ secret = '', body: { transaction, batch }, ...needs }) {
      if (batch) return signedBatch(needs, batch, secret)
      if (!transaction) throw misuse('wallets sign: FILE is missing.')
      const key = privateKey(secret)
      const { tx_id, says, expires_at } = describe(transaction)
      const signatures = [...new Set([...transaction.signatures, sign(tx_id, key)])]
      return {
        value: {
          tx_id,
          signed_by: addressOf(key),
          signatures: signatures.length,
          expires_at,
          says,
        },
        documents: { transaction: carriedText({ ...transaction, signatures }) },
      }
    },
  }),
  local({
    path: '/operator/wallets/address',
    summary: 'print the address of a private key, which is read from standard input',
    description:
      'It asks no node, needs no network, and prints nothing of the key. For the hot key of ' +
      'wallets permit --hot-key.',
    body: NOTHING,
    takes: 'secret',
    reply: Type.Object({ address: Text }),
    handle: async ({ secret = '' }) => ({ value: { address: addressOf(privateKey(secret)) } }),
  }),
  local({
    path: '/operator/wallets/broadcast',
    summary: 'send a signed transaction of wallets permit, forbid or stake, or a signed batch',
    description:
      'The exit code is 1 when no node takes it. It is done when wallets check says so. A batch ' +
      'can be sent again and after an interruption: what is on the chain is not sent twice.',
    body: Type.Object({
      ...CARRIED,
      burn: flag('of a batch, also tokens at addresses that lack energy: TRX there is burned'),
    }),
    reply: Type.Object({
      tx_id: optional(Text),
      address: optional(Text),
      taken: Flag,
      answers: Type.Array(Text),
      says: Type.Array(Text),
      ...BATCH_OUTCOME,
    }),
    cli: {
      operands: ['file'],
      extras: FILE,
      node: 'plain',
      filled: ['transaction', 'batch'],
      text: updateText,
      async before(extras, terminal) {
        const body = await readFileOf(extras, terminal)
        const { file } = extras
        if (body.transaction?.signatures.length === 0)
          throw refusal(`${file} is not signed yet: wallets sign ${file}.`)
        return body
      },
    },
    async handle({ body: { transaction, batch, burn = false }, ...needs }) {
      if (batch) return sendBatch(needs, batch, burn)
      if (!transaction) throw misuse('wallets broadcast: FILE is missing.')
      const { raw, tx_id, address, says } = describe(transaction)
      const bytes = encodeTransaction(raw, transaction.signatures)
      const answers = await needs.node().broadcast(bytes)
      const taken = answers.some(({ accepted }) => accepted)
      const said = answers.map(({ said }) => said)
      return { value: { tx_id, address, taken, answers: said, says }, ok: taken }
    },
  }),
]
