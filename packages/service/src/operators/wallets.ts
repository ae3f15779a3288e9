// Hot keys and their permissions on the chain: looking at them, giving one its permission, taking
// it away. None of it needs the database: it is done before a service runs, or while nobody trusts
// it.

import type { Address } from 'penstock-tron/address.ts'
import { addressOf, sign } from 'penstock-tron/keys.ts'
import { encodeTransaction, transactionId } from 'penstock-tron/transaction.ts'
import { misuse, refusal } from '../lib/fault.ts'
import type { Node } from '../node/node.ts'
import {
  describeUpdate,
  forbid,
  type Permissions,
  permit,
  updateBytes,
} from '../wallets/permission_update.ts'
import { lookAtKeys } from '../wallets/permissions.ts'
import { type Answer, address, many, needed, oneOf, standalone, text, whole } from './command.ts'

const HOURS = 12
const node_url = many(text('URL', 'a node; all of them are asked'))
const file = text('FILE', 'where the unsigned transaction is written to, to be carried')
const hours = whole('HOURS', `for how long it may be signed and sent (${HOURS})`, { max: 23 })

/** What is carried between the machine with the node and the one with the key. */
type Carried = { raw_data: string; tx_id: string; signatures: string[] }
type Described = Carried & { update: ReturnType<typeof describeUpdate> }

function readCarried(given: string, name: string): Described {
  try {
    const { raw_data, signatures } = JSON.parse(given) as Carried
    if (!/^([0-9a-f]{2})+$/.test(raw_data) || !Array.isArray(signatures))
      throw refusal('it has another form')
    if (!signatures.every((one) => /^[0-9a-f]{130}$/.test(one)))
      throw refusal('a signature has another form')
    // The id is worked out again: what is signed is the bytes.
    const raw = Buffer.from(raw_data, 'hex')
    return { raw_data, signatures, tx_id: transactionId(raw), update: describeUpdate(raw) }
  } catch (thrown) {
    throw refusal(`${name} is not a transaction of wallets permit: ${(thrown as Error).message}.`)
  }
}

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

type Files = { writeFile(name: string, text: string): Promise<void> }
type Update = {
  address: Address
  next: Permissions
  hours: number | undefined
  file: string | undefined
}

/** Makes the transaction, prints what it does, and writes it to be carried. */
async function prepared(node: Node, files: Files, update: Update): Promise<Answer> {
  const raw = updateBytes(update.address, update.next, {
    head: await node.head(),
    hours: update.hours ?? HOURS,
  })
  const carried: Carried = {
    raw_data: Buffer.from(raw).toString('hex'),
    tx_id: transactionId(raw),
    signatures: [],
  }
  const { expires_at, says } = describeUpdate(raw)
  if (update.file !== undefined)
    await files.writeFile(update.file, `${JSON.stringify(carried, null, 2)}\n`)
  const note =
    update.file === undefined
      ? 'Nothing was written: give --file to carry it.'
      : `Take ${update.file} to the machine with the owner's key: wallets sign ${update.file}.`
  return { value: { tx_id: carried.tx_id, expires_at, says, raw_data: carried.raw_data }, note }
}

export const walletCommands = [
  standalone({
    words: 'wallets check',
    summary: 'whether each hot key can do what it is for, and nothing else',
    details:
      'Of the file that PENSTOCK_WALLETS names, as a worker has it. The exit code is 1 when something is wrong.',
    options: { node_url },
    async run({ nodeAt, wallets }, { node_url }) {
      const node = nodeAt(node_url)
      const of = await wallets()
      const lines = [...of.pool, of.activation, ...(of.refund ? [of.refund] : [])]
      if (lines.every(({ private_key }) => private_key === undefined)) {
        throw refusal('The file has no private keys: there is nothing to look for on the chain.')
      }
      const { complaints } = await lookAtKeys(node, of)
      const rows = await Promise.all(
        lines.map(async (line) => {
          const { balance_sun, staked_sun } = await node.account(line.address)
          const hot_key = line.private_key === undefined ? null : addressOf(line.private_key)
          const staked = staked_sun.energy + staked_sun.bandwidth
          return {
            address: line.address,
            permission_id: line.permission_id,
            hot_key,
            balance_sun,
            staked_sun: staked,
          }
        }),
      )
      const said = complaints.map(({ said }) => said)
      const note =
        said.length === 0 ? 'Each key can do what it is for, and nothing else.' : said.join('\n')
      return { value: { wallets: rows, complaints: said }, note, ok: said.length === 0 }
    },
  }),
  standalone({
    words: 'wallets permit',
    summary: 'prepare the transaction that gives a hot key its permission',
    details:
      'Nothing is sent. All other permissions stay as they are. It is signed by wallets sign.',
    operands: { address: needed(address('the wallet')) },
    options: {
      kind: needed(oneOf(['pool', 'activation', 'refund'], 'what the key is for')),
      hot_key: needed(address('the address of the hot key')),
      spare_key: many(address('another key that may do the same, while keys are being changed')),
      permission_id: whole('N', 'the permission to replace', { min: 2, max: 9 }),
      file,
      hours,
      node_url,
    },
    async run({ nodeAt, ...files }, given) {
      const { address, kind, hot_key, spare_key: spare_keys, permission_id, node_url } = given
      const node = nodeAt(node_url)
      const now = await permissionsOf(node, address)
      const wanted = { kind, hot_key, spare_keys, permission_id }
      const made = permit(now, wanted)
      const answer = await prepared(node, files, {
        address,
        next: made.next,
        hours: given.hours,
        file: given.file,
      })
      return {
        ...answer,
        value: { permission_id: made.permission_id, ...(answer.value as object) },
      }
    },
  }),
  standalone({
    words: 'wallets forbid',
    summary: 'prepare the transaction that takes every permission of a key away',
    details: 'Nothing is sent. All other keys stay as they are. It is signed by wallets sign.',
    operands: { address: needed(address('the wallet')) },
    options: { hot_key: needed(address('the address of the key')), file, hours, node_url },
    async run({ nodeAt, ...files }, { address, hot_key, hours, file, node_url }) {
      const node = nodeAt(node_url)
      const now = await permissionsOf(node, address)
      const next = forbid(now, hot_key)
      return prepared(node, files, { address, next, hours, file })
    },
  }),
  standalone({
    words: 'wallets sign',
    summary: "sign such a transaction with an owner's key, which is read from standard input",
    details:
      'It asks no node and needs no network. What it prints comes from the bytes that are signed.',
    operands: { file: needed(text('FILE', 'the transaction')) },
    async run({ readFile, writeFile, readInput }, { file }) {
      const { update, ...carried } = readCarried(await readFile(file), file)
      const { says, expires_at } = update
      const key = (await readInput()).trim()
      if (!/^[0-9a-f]{64}$/.test(key))
        throw misuse('Standard input has no key: 64 hexadecimal characters.')
      const signature = sign(carried.tx_id, key)
      const signatures = [...new Set([...carried.signatures, signature])]
      await writeFile(file, `${JSON.stringify({ ...carried, signatures }, null, 2)}\n`)
      const value = {
        tx_id: carried.tx_id,
        signed_by: addressOf(key),
        signatures: signatures.length,
        expires_at,
        says,
      }
      return { value, note: `Send it where a node can be reached: wallets broadcast ${file}.` }
    },
  }),
  standalone({
    words: 'wallets broadcast',
    summary: 'send a signed transaction of wallets permit or wallets forbid',
    details: 'The exit code is 1 when no node takes it. It is done when wallets check says so.',
    operands: { file: needed(text('FILE', 'the transaction')) },
    options: { node_url },
    async run({ nodeAt, readFile }, { file, node_url }) {
      const { raw_data, signatures, tx_id, update } = readCarried(await readFile(file), file)
      if (signatures.length === 0) throw refusal(`${file} is not signed yet: wallets sign ${file}.`)
      const raw = new Uint8Array(Buffer.from(raw_data, 'hex'))
      const { address, says } = update
      const answers = await nodeAt(node_url).broadcast(encodeTransaction(raw, signatures))
      const taken = answers.some(({ accepted }) => accepted)
      return {
        value: { tx_id, address, taken, answers: answers.map(({ said }) => said), says },
        ok: taken,
      }
    },
  }),
]
