// How fast and how large the development chain is: transactions through its HTTP interface with
// real signatures, beside the recovery of signers alone, which would bound it if keys were not
// recognized; what a delegation costs; blocks on demand; a block of 5,000; a million accounts; and
// how long after its start it answers.

import { spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import { Agent, request } from 'node:http'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { bytesToHex } from '@noble/hashes/utils.js'
import { referenceTo } from 'penstock-devchain/chain/blocks.ts'
import { Devchain } from 'penstock-devchain/devchain.ts'
import { addressToHex } from 'penstock-tron/address.ts'
import { addressOf, type PrivateKey, recoverAddress, sign } from 'penstock-tron/keys.ts'
import type { Message } from 'penstock-tron/protobuf.ts'
import {
  contract,
  encodeRawData,
  encodeTransaction,
  transactionId,
} from 'penstock-tron/transaction.ts'

const SENDERS = 50
const SENT = 5000
/** A node is busy when more than 2,000 wait. */
const SENT_PER_BLOCK = 1500
const CONNECTIONS = 16
const LARGE_BLOCK = 5000
const WALLETS = 4
const DELEGATIONS = 2000
const EMPTY_BLOCKS = 20_000
const ACCOUNTS = 1_000_000
const STARTS = 5
const RECOVERIES = 300
const FUNDING_SUN = 1_000_000_000_000n
const LARGE_BLOCK_MS_MAX = 1000
const ACCOUNTS_MIB_MAX = 1024
const FIRST_ANSWER_MS_MAX = 1000

const keys = Array.from({ length: SENDERS }, (_, index) => hash('sha256', `bench sender ${index}`))
const command = fileURLToPath(new URL('../packages/devchain/penstock-devchain.js', import.meta.url))

type SignedTransaction = { readonly id: string; readonly hex: string; readonly signature: string }

type TransactionSpec = {
  readonly type: string
  readonly message: Message
  readonly key: PrivateKey
  readonly serial: number
}

/** A signed transaction; serials make equal ones different. */
function signed(
  { head }: Pick<Devchain, 'head'>,
  { type, message, key, serial }: TransactionSpec,
): SignedTransaction {
  const { timestamp } = head.header
  const raw = encodeRawData({
    ...referenceTo(head),
    expiration: timestamp + 3_600_000,
    timestamp: timestamp + serial,
    contract: [contract(type, message)],
  })
  const id = transactionId(raw)
  const signature = sign(id, key)
  return { id, signature, hex: bytesToHex(encodeTransaction(raw, [signature])) }
}

/** Signed transfers of one sun, each of another id. */
function transfers(devchain: Pick<Devchain, 'head'>, count: number): SignedTransaction[] {
  const addresses = keys.map((key) => addressToHex(addressOf(key)))
  return Array.from({ length: count }, (_, serial) => {
    const from = serial % SENDERS
    const message = {
      owner_address: addresses[from]!,
      to_address: addresses[(from + 1) % SENDERS]!,
      amount: 1n,
    }
    return signed(devchain, { type: 'TransferContract', message, key: keys[from]!, serial })
  })
}

function chain(): Devchain {
  const genesis_balances = keys.map((key) => ({ address: addressOf(key), sun: FUNDING_SUN }))
  return new Devchain({
    genesis_time_ms: 1_780_000_000_000,
    genesis_balances,
    pending_max: 2 * LARGE_BLOCK,
  })
}

/** Milliseconds to make a block of many transactions that wait for it, with their signatures
 *  checked already, and microseconds of the processor that each takes from its broadcast into the
 *  block. */
function blockOfMany(): { block_ms: number; cpu_us: number } {
  const devchain = chain()
  const waiting = transfers(devchain, LARGE_BLOCK)
  const before = process.cpuUsage()
  for (const { hex } of waiting) {
    devchain.request('POST', '/wallet/broadcasthex', JSON.stringify({ transaction: hex }))
  }
  const started_ms = performance.now()
  const { transactions } = devchain.mine()
  const taken_ms = performance.now() - started_ms
  if (transactions.length !== LARGE_BLOCK)
    throw new Error(`the block has ${transactions.length} transactions`)
  const { user, system } = process.cpuUsage(before)
  return { block_ms: taken_ms, cpu_us: (user + system) / LARGE_BLOCK }
}

/** Microseconds that one delegation takes when it is broadcast, and when a block takes it in: a few
 *  wallets sign all of them, as those of a pool do. */
function delegationCosts(): { broadcast_us: number; include_us: number } {
  const receivers = Array.from({ length: DELEGATIONS }, (_, index) =>
    addressOf(hash('sha256', `receiver ${index}`)),
  )
  const owners = keys.slice(0, WALLETS)
  const devchain = new Devchain({
    genesis_time_ms: 1_780_000_000_000,
    pending_max: DELEGATIONS,
    genesis_balances: [...owners.map(addressOf), ...receivers].map((address) => ({
      address,
      sun: 10n ** 15n,
    })),
  })
  const send = (hex: string) => {
    const { body } = devchain.request(
      'POST',
      '/wallet/broadcasthex',
      JSON.stringify({ transaction: hex }),
    )
    if (!body.includes('"result":true')) throw new Error(body)
  }
  const owner_address = (index: number) => addressToHex(addressOf(owners[index % WALLETS]!))
  const common = { resource: 'ENERGY' }
  for (const [index, key] of owners.entries()) {
    const stake = {
      ...common,
      owner_address: owner_address(index),
      frozen_balance: 9n * 10n ** 14n,
    }
    send(
      signed(devchain, { type: 'FreezeBalanceV2Contract', message: stake, key, serial: index }).hex,
    )
  }
  devchain.mine()
  const waiting = receivers.map((receiver, serial) => {
    const to = { ...common, receiver_address: addressToHex(receiver), balance: 6_772_958_011n }
    const message = { ...to, owner_address: owner_address(serial) }
    return signed(devchain, {
      type: 'DelegateResourceContract',
      message,
      key: owners[serial % WALLETS]!,
      serial,
    })
  })
  const started_ms = performance.now()
  for (const { hex } of waiting) send(hex)
  const broadcast_ms = performance.now() - started_ms
  const { transactions } = devchain.mine()
  if (transactions.length !== DELEGATIONS)
    throw new Error(`the block has ${transactions.length} delegations`)
  const include_ms = performance.now() - started_ms - broadcast_ms
  return {
    broadcast_us: (broadcast_ms * 1000) / DELEGATIONS,
    include_us: (include_ms * 1000) / DELEGATIONS,
  }
}

function emptyBlocksPerSecond(): number {
  const devchain = chain()
  const started_ms = performance.now()
  for (let made = 0; made < EMPTY_BLOCKS; made++) devchain.mine()
  return (EMPTY_BLOCKS * 1000) / (performance.now() - started_ms)
}

type StartedChain = {
  readonly url: string
  readonly first_answer_ms: number
  stop(): Promise<void>
}

/** The command in a process of its own, up to its first answer. */
async function start(...options: string[]): Promise<StartedChain> {
  const started_ms = performance.now()
  const child = spawn(process.execPath, [command, '--port', '0', '--block-time', '0', ...options])
  // A measurement that fails leaves nothing running.
  process.once('exit', () => child.kill())
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.startsWith('listening on ')) resolve(line.slice('listening on '.length))
    })
    child.once('close', () => reject(new Error('the development chain ended before it listened')))
  })
  await ask(url, '/wallet/getnowblock', '{}')
  const first_answer_ms = performance.now() - started_ms
  return {
    url,
    first_answer_ms,
    async stop() {
      child.kill('SIGTERM')
      await closed
    },
  }
}

/** Without an agent every question has a connection of its own. */
function ask(
  url: string,
  path: string,
  body: string,
  agent: Agent | false = false,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request(`${url}${path}`, { method: 'POST', agent }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        text += chunk
      })
      response.on('end', () => resolve(text))
    })
    asked.on('error', reject)
    asked.end(body)
  })
}

/** Transactions that the command's HTTP interface takes in a second, over several connections,
 *  blocks included. */
async function broadcastsPerSecond(): Promise<number> {
  const served = await start()
  for (const key of keys) {
    await ask(
      served.url,
      '/devchain/fund',
      JSON.stringify({ address: addressOf(key), sun: 1_000_000_000_000 }),
    )
  }
  const { head } = JSON.parse(await ask(served.url, '/devchain/mine', '{}')) as { head: Head }
  const waiting = transfers({ head: blockOf(head) }, SENT)
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const started_ms = performance.now()
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      for (let next = waiting.pop(); next; next = waiting.pop()) {
        const answer = await ask(
          served.url,
          '/wallet/broadcasthex',
          JSON.stringify({ transaction: next.hex }),
          agent,
        )
        if (!answer.includes('"result":true')) throw new Error(answer)
        if (waiting.length % SENT_PER_BLOCK === 0)
          await ask(served.url, '/devchain/mine', '{}', agent)
      }
    }),
  )
  const taken_ms = performance.now() - started_ms
  agent.destroy()
  await served.stop()
  return (SENT * 1000) / taken_ms
}

type Head = { readonly id: string; readonly time_ms: number }

/** As much of a block as referring to it takes. */
const blockOf = ({ id, time_ms }: Head) =>
  ({ id, header: { timestamp: time_ms } }) as Devchain['head']

/** Signers recovered in a second and nothing else, in this process. */
function recoveriesPerSecond(): number {
  const list = transfers(chain(), RECOVERIES)
  const started_ms = performance.now()
  for (const { id, signature } of list) recoverAddress(id, signature)
  return (RECOVERIES * 1000) / (performance.now() - started_ms)
}

const DEVCHAIN = new URL('../packages/devchain/devchain.ts', import.meta.url).href

const manyAccounts = `
  const { Devchain } = await import(${JSON.stringify(DEVCHAIN)})
  gc()
  const before = process.memoryUsage()
  const devchain = new Devchain({ genesis_time_ms: 1_780_000_000_000 })
  for (let made = 0; made < ${ACCOUNTS}; made++) {
    const address = '41' + made.toString(16).padStart(40, '0')
    devchain.chain.decree({ kind: 'fund', address, sun: 1_000_000_000n + BigInt(made) })
    if (made % 20_000 === 0) devchain.mine()
  }
  for (let made = 0; made < 20; made++) devchain.mine()
  gc()
  const { heapUsed, rss } = process.memoryUsage()
  const { head_state } = devchain.chain
  if (head_state.count('account') < ${ACCOUNTS}) throw new Error('accounts are missing')
  console.log(JSON.stringify({ heap: heapUsed - before.heapUsed, rss }))
`

/** What a process with a million accounts takes, and what of it the accounts are, in MiB. */
async function memoryOfAccounts(): Promise<{ process_mib: number; accounts_mib: number }> {
  const child = spawn(
    process.execPath,
    ['--expose-gc', '--input-type=module', '-e', manyAccounts],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  let text = ''
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString()
  })
  await new Promise((resolve) => child.once('close', resolve))
  const { heap, rss } = JSON.parse(text) as { heap: number; rss: number }
  return { accounts_mib: Math.round(heap / 2 ** 20), process_mib: Math.round(rss / 2 ** 20) }
}

async function firstAnswer(): Promise<number> {
  const times: number[] = []
  for (let tried = 0; tried < STARTS; tried++) {
    const served = await start()
    times.push(served.first_answer_ms)
    await served.stop()
  }
  return times.sort((a, b) => a - b)[Math.floor(STARTS / 2)]!
}

export async function run({ json }: { json: boolean }): Promise<void> {
  const first_answer_ms = Math.round(await firstAnswer())
  const broadcasts_per_second = Math.round(await broadcastsPerSecond())
  const recoveries_per_second = Math.round(recoveriesPerSecond())
  const blocks_per_second = Math.round(emptyBlocksPerSecond())
  const { block_ms, cpu_us } = blockOfMany()
  const [block_of_5000_ms, transaction_cpu_us] = [Math.round(block_ms), Math.round(cpu_us)]
  const delegation = delegationCosts()
  const memory = await memoryOfAccounts()
  const figures = {
    broadcasts_per_second,
    recoveries_per_second,
    blocks_per_second,
    block_of_5000_ms,
    transaction_cpu_us,
    delegation_broadcast_us: Math.round(delegation.broadcast_us),
    delegation_include_us: Math.round(delegation.include_us),
    million_accounts_mib: memory.accounts_mib,
    million_accounts_process_mib: memory.process_mib,
    first_answer_ms,
  }
  if (json) return void process.stdout.write(`${JSON.stringify(figures)}\n`)
  process.stdout.write(
    [
      `transactions over HTTP      ${broadcasts_per_second} a second, ` +
        `signatures checked (recovering signers alone: ${recoveries_per_second})`,
      `blocks on demand            ${blocks_per_second} a second, empty`,
      `a block of 5,000            ${block_of_5000_ms} ms (limit ${LARGE_BLOCK_MS_MAX} ms)`,
      `a transaction               ${transaction_cpu_us} us of the processor, ` +
        'from its broadcast into its block',
      `a delegation                ${figures.delegation_broadcast_us} us when broadcast, ` +
        `${figures.delegation_include_us} us when a block takes it in`,
      `a million accounts          ${memory.accounts_mib} MiB, ` +
        `the process ${memory.process_mib} MiB (limit ${ACCOUNTS_MIB_MAX} MiB)`,
      `start to the first answer   ${first_answer_ms} ms, ` +
        `the median of ${STARTS} (limit ${FIRST_ANSWER_MS_MAX} ms)`,
      '',
    ].join('\n'),
  )
}
