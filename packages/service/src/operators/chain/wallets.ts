// What the service knows of a wallet; and hot keys and their permissions on the chain: looking at
// them, giving one its permission, taking it away. The latter needs no database: it is done before
// a service runs, or while nobody trusts it.

import { wrapped } from 'penstock-command-line/fitting.ts'
import type { Address } from 'penstock-tron/address.ts'
import { addressOf, sign } from 'penstock-tron/keys.ts'
import { encodeTransaction, transactionId } from 'penstock-tron/transaction.ts'
import { type Static, Type } from 'typebox'
import type { BlockHead, Node } from '../../chain/node/node.ts'
import {
  forbid,
  type Permissions,
  permit,
  updateBytes,
} from '../../chain/wallets/permission_update.ts'
import { lookAtKeys } from '../../chain/wallets/permissions.ts'
import { describeCarried, stakeBytes } from '../../chain/wallets/stake.ts'
import { findWalletCheck } from '../../chain/wallets/wallet_watch.ts'
import { wireTime } from '../../lib/clock.ts'
import { misuse, refusal } from '../../lib/fault.ts'
import { trxText } from '../../lib/json.ts'
import { poolWallets } from '../../market/pool/figures.ts'
import { CARRIES_MIN } from '../../market/pool/pool.ts'
import {
  address,
  Count,
  Flag,
  ListOf,
  Moment,
  NOTHING,
  OrNull,
  oneOf,
  optional,
  Sun,
  sun,
  Text,
  text,
  Whole,
  whole,
} from '../../platform/wire/schemas.ts'
import { type Answer, local, look, type Terminal, type TerminalAnswer } from '../table/operation.ts'

const HOURS = 12
const hours = optional(
  whole('HOURS', `for how long it may be signed and sent (${HOURS})`, { max: 23 }),
)
const FILE = Type.Object({ file: text('FILE', 'the transaction') })
const OUT = Type.Object({
  file: optional(text('FILE', 'where the unsigned transaction is written to, to be carried')),
})

/** What is carried between the machine with the node and the one with the key. */
const CarriedTransaction = Type.Object({ raw_data: Text, signatures: Type.Array(Text) })
type CarriedTransaction = Static<typeof CarriedTransaction>

/** Throws Refused when it is none that a command of wallets has prepared. */
function readCarried(given: string, name: string): CarriedTransaction {
  try {
    const { raw_data, signatures } = JSON.parse(given) as CarriedTransaction
    if (!/^([0-9a-f]{2})+$/.test(raw_data) || !Array.isArray(signatures))
      throw refusal('it has another form')
    if (!signatures.every((one) => /^[0-9a-f]{130}$/.test(one)))
      throw refusal('a signature has another form')
    describeCarried(Buffer.from(raw_data, 'hex'))
    return { raw_data, signatures }
  } catch (thrown) {
    throw refusal(
      `${name} is not a transaction of wallets permit, forbid or stake: ` +
        `${(thrown as Error).message}.`,
    )
  }
}

const readFileOf = async ({ file }: { file: string }, { readFile }: Terminal) => ({
  transaction: readCarried(await readFile(file), file),
})

/** The bytes with what they do; the id is worked out from them, since they are what is signed. */
function describe({ raw_data }: Pick<CarriedTransaction, 'raw_data'>) {
  const raw = new Uint8Array(Buffer.from(raw_data, 'hex'))
  return { raw, tx_id: transactionId(raw), ...describeCarried(raw) }
}

const carriedText = (carried: CarriedTransaction) => () =>
  `${JSON.stringify({ ...carried, tx_id: describe(carried).tx_id }, null, 2)}\n`

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

const PreparedUpdate = { tx_id: Text, expires_at: Moment, says: Type.Array(Text), raw_data: Text }
type Valid = { head: BlockHead; hours: number }

/** The transaction, what it does, and what is carried of it. */
async function prepared(node: Node, hours = HOURS, bytesOf: (valid: Valid) => Uint8Array) {
  const bytes = bytesOf({ head: await node.head(), hours })
  const raw_data = Buffer.from(bytes).toString('hex')
  const { tx_id, expires_at, says } = describe({ raw_data })
  const documents = { transaction: carriedText({ raw_data, signatures: [] }) }
  return { value: { tx_id, expires_at, says, raw_data }, documents }
}

/** What is compared before and after signing: one permission a line, the bytes not at all. */
function updateText({ says, raw_data: _, ...facts }: Record<string, unknown> & { says: string[] }) {
  const fields = Object.entries(facts).map(([key, value]): [string, string] => [
    key.replaceAll('_', ' '),
    value instanceof Date ? wireTime(value) : String(value),
  ])
  const width = Math.max(...fields.map(([name]) => name.length)) + 2
  const lines = says.flatMap((one) =>
    wrapped(one, 96).map((line, i) => `${i === 0 ? '- ' : '  '}${line}`),
  )
  const facts_text = fields.map(([name, said]) => name.padEnd(width) + said)
  return `${[...facts_text, '', ...lines].join('\n')}\n`
}

const SUN_PER_TRX = 1_000_000n

async function carry(
  answer: Answer,
  file: string | undefined,
  terminal: Terminal,
): Promise<TerminalAnswer> {
  if (file === undefined)
    return { ...answer, note: 'Nothing was written: give --file to carry it.' }
  await terminal.writeFile(file, answer.documents!.transaction!())
  const note = `Take ${file} to the machine with the owner's key: wallets sign ${file}.`
  const { permission_id } = answer.value as { permission_id?: number }
  const for_file =
    permission_id === undefined
      ? ''
      : `\nIn the file of wallets: "permission_id": ${permission_id}.`
  return { ...answer, note: `${note}${for_file}` }
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
      const lines = [...of.pool, of.activation, ...(of.refund ? [of.refund] : [])]
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
      kind: oneOf(['pool', 'activation', 'refund'], 'what the key is for'),
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
  local({
    path: '/operator/wallets/stake',
    summary: 'prepare the transaction that stakes TRX of a wallet for energy or bandwidth',
    description: 'Nothing is sent. It is signed by wallets sign, with the key of the owner.',
    body: Type.Object({
      address: address('the wallet'),
      amount_sun: sun('AMOUNT', 'TRX to stake, whole'),
      resource: oneOf(['energy', 'bandwidth'], 'what it is staked for'),
      hours,
    }),
    reply: Type.Object(PreparedUpdate),
    cli: {
      operands: ['address', 'amount_sun'],
      extras: OUT,
      node: 'plain',
      text: updateText,
      after: (answer, { file }, terminal) => carry(answer, file, terminal),
    },
    async handle({ body: { amount_sun, resource, hours, ...body }, ...needs }) {
      const node = needs.node()
      const address = body.address as Address
      const amount = BigInt(amount_sun)
      if (amount === 0n || amount % SUN_PER_TRX !== 0n)
        throw misuse('wallets stake: AMOUNT is a whole number of TRX, 1 or more.')
      const { balance_sun } = await node.account(address)
      if (balance_sun < amount)
        throw refusal(`${address} has ${trxText(balance_sun)} TRX that are not staked.`)
      return prepared(node, hours, (valid) =>
        stakeBytes({ address, amount_sun: amount, resource }, valid),
      )
    },
  }),
  local({
    path: '/operator/wallets/sign',
    summary: "sign such a transaction with an owner's key, which is read from standard input",
    description:
      'It asks no node and needs no network. What it prints comes from the bytes that are signed.',
    takes: 'secret',
    body: Type.Object({ transaction: CarriedTransaction }),
    reply: Type.Object({
      tx_id: Text,
      signed_by: Text,
      signatures: Count,
      expires_at: Moment,
      says: Type.Array(Text),
    }),
    cli: {
      operands: ['file'],
      extras: FILE,
      filled: ['transaction'],
      text: updateText,
      before: readFileOf,
      async after(answer, { file }, terminal) {
        await terminal.writeFile(file, answer.documents!.transaction!())
        const note = `Send it where a node can be reached: wallets broadcast ${file}.`
        return { ...answer, note }
      },
    },
    async handle({ secret = '', body: { transaction } }) {
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
    summary: 'send a signed transaction of wallets permit, forbid or stake',
    description: 'The exit code is 1 when no node takes it. It is done when wallets check says so.',
    body: Type.Object({ transaction: CarriedTransaction }),
    reply: Type.Object({
      tx_id: Text,
      address: Text,
      taken: Flag,
      answers: Type.Array(Text),
      says: Type.Array(Text),
    }),
    cli: {
      operands: ['file'],
      extras: FILE,
      node: 'plain',
      filled: ['transaction'],
      text: updateText,
      async before(extras, terminal) {
        const body = await readFileOf(extras, terminal)
        const { file } = extras
        if (body.transaction.signatures.length === 0)
          throw refusal(`${file} is not signed yet: wallets sign ${file}.`)
        return body
      },
    },
    async handle({ body: { transaction }, ...needs }) {
      const { raw, tx_id, address, says } = describe(transaction)
      const bytes = encodeTransaction(raw, transaction.signatures)
      const answers = await needs.node().broadcast(bytes)
      const taken = answers.some(({ accepted }) => accepted)
      const said = answers.map(({ said }) => said)
      return { value: { tx_id, address, taken, answers: said, says }, ok: taken }
    },
  }),
]
