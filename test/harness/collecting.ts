// A town of customers who have paid in, and an operator who collects: what the story and the long
// test of collecting stand on.

import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HDKey } from '@scure/bip32'
import { selectorOf, wordOfAddress, wordOfInteger } from 'penstock-devchain/calls/abi.ts'
import { type Person, TRX } from 'penstock-devchain/scene.ts'
import { createCustomer } from 'penstock-service/people/customers/customers.ts'
import { type Address, addressToHex } from 'penstock-tron/address.ts'
import { USDT } from 'penstock-tron/tokens.ts'
import { type Operator, worldOperator } from './operator.ts'
import { repeatable, type World } from './world.ts'

export const NODE = ['--node-url', 'http://127.0.0.1']

/** The extended private key below which the deposit addresses of a world lie. */
export const depositSecret = (seed = 'world'): string =>
  HDKey.fromMasterSeed(repeatable(seed).bytes(32)).derive("m/44'/195'/0'").privateExtendedKey

export type Payment = { address: Address; sun: bigint; tokens: bigint }
export type Town = {
  world: World
  at: Operator
  /** Whom everything is collected to. */
  safe: Person
  /** Customers, with what each has paid in. */
  paid: Payment[]
  folder: string
  file: string
  /** What standard input has from now on. */
  types(input: string): void
  /** Writes the file of wallets again, with other addresses to collect to. */
  allow(...collect_to: Address[]): Promise<void>
  end(): Promise<void>
}

export type TownSize = {
  addresses: number
  /** So many of them have paid in a token, too. */
  with_token: number
  /** The least that each pays in. */
  from_trx?: bigint
}

/** Everybody has paid in another sum, to the sun, and it is credited. */
export async function collectingTown(
  world: World,
  { addresses, with_token, from_trx = 5n }: TownSize,
): Promise<Town> {
  const at = await worldOperator(world)
  const folder = await mkdtemp(join(tmpdir(), 'penstock-collect-'))
  const wallets = join(folder, 'wallets.json')
  const safe = world.person('safe', 1)
  const allow = (...collect_to: Address[]) =>
    writeFile(wallets, JSON.stringify({ ...world.wallets, collect_to }), { mode: 0o600 })
  await allow(safe.address)
  at.io.env.PENSTOCK_WALLETS = wallets
  const types = (input: string) => {
    at.io.input = async () => input
  }
  types(depositSecret())
  const { new_id, deposit_address } = world.app
  const needs = { clock: { now: () => world.now }, new_id, deposit_address }
  const paid: Payment[] = await world.sql.begin(async (tx) => {
    const made: Payment[] = []
    for (let i = 0; i < addresses; i++) {
      const { deposit_address: address } = await createCustomer(tx, needs, { name: `payer ${i}` })
      const sun = from_trx * TRX + BigInt((i * 7_919_013) % 9_000_001)
      made.push({ address, sun, tokens: i < with_token ? 2_000_000n + BigInt(i) : 0n })
    }
    return made
  })
  for (const { address, sun } of paid) world.pay(address, sun)
  await payTokens(world, paid)
  await world.solidify()
  await world.solidify()
  const end = () => rm(folder, { recursive: true })
  return { world, at, safe, paid, folder, file: join(folder, 'batch.json'), types, allow, end }
}

/** Tokens that a rich payer sends. */
async function payTokens(world: World, paid: readonly Payment[]): Promise<void> {
  const rich = world.person('rich', 1_000_000)
  world.scene.post('/devchain/mint', { address: rich.address, amount: 10n ** 12n })
  world.mine()
  for (const { address, tokens } of paid) if (tokens > 0n) sendTokens(world, rich, address, tokens)
}

export function sendTokens(world: World, from: Person, to: Address, amount: bigint): void {
  const data =
    selectorOf('transfer(address,uint256)') +
    wordOfAddress(addressToHex(to)) +
    wordOfInteger(amount)
  const message = { contract_address: addressToHex(USDT), data }
  const answer = world.scene.send(from, 'TriggerSmartContract', message, { fee_limit: 100n * TRX })
  assert.equal(answer.result, true, String(answer.message))
}

/** How much of a token an address has. */
export async function tokensOf({ world }: Town, owner: Address): Promise<bigint> {
  const parameter = addressToHex(owner).slice(2).padStart(64, '0')
  const selector = 'balanceOf(address)'
  const { result } = await world.node.constantCall({ owner, contract: USDT, selector, parameter })
  return BigInt(`0x${result}`)
}

export const balanceOf = async ({ world }: Town, address: Address): Promise<bigint> =>
  (await world.node.account(address)).balance_sun

/** Begins a command, which is killed after so many requests of the node: nobody answers it any
 *  more. True when it has ended before. */
export async function killedAfter(
  { at }: Town,
  requests: number,
  ...words: string[]
): Promise<boolean> {
  const { transport } = at.io
  let left = requests
  let kill = () => {}
  const killed = new Promise<false>((resolve) => {
    kill = () => resolve(false)
  })
  at.io.transport = async (request) => {
    if (left-- > 0) return transport(request)
    kill()
    return new Promise<never>(() => {})
  }
  const ended = at.type(...words).then(({ code }) => code === 0)
  const done = await Promise.race([ended, killed])
  at.io.transport = transport
  return done
}

export type Treasury = {
  addresses: number
  trx_sun: number
  dust_addresses: number
  dust_sun: number
  under_way_sun: number
  blocked_sun: number
  collected_sun: number
  fees_sun: number
  left_otherwise_sun: number
  tokens: { token: string; amount: number; under_way: number; addresses: number }[]
  places: { address: string; trx_sun: number; since: string | null; under_way_sun: number }[]
}

export const show = ({ at }: Town): Promise<Treasury> =>
  at.json<Treasury>('treasury', 'show', '--limit', '10000')

export type Collection = {
  id: string
  digest: string
  transfers: number
  says: string[]
  fees_max_sun: number
  energy_needed: number
  left_out: { dust: number; blocked: number; under_way: number; without_trx: number }
}

export const collect = ({ at, safe, file }: Town, ...more: string[]): Promise<Collection> =>
  at.json<Collection>(
    ...['treasury', 'collect', '--to', safe.address, '--file', file, ...NODE, ...more],
  )

export type Batch = {
  network: string
  digest: string
  parts: { transfers: { index: number; raw_data: string; signature?: string }[] }[]
}

export const readBatch = async ({ file }: Town): Promise<Batch> =>
  JSON.parse(await readFile(file, 'utf8')) as Batch

export type SentBatch = {
  sent: number
  there: number
  waiting: number
  refused: { address: string; said: string }[]
}

export const broadcast = async ({ at, file }: Town, ...more: string[]): Promise<SentBatch> => {
  const { out, err } = await at.type('wallets', 'broadcast', file, ...NODE, ...more, '--json')
  assert.notEqual(out, '', err)
  return JSON.parse(out) as SentBatch
}

/** All that was paid in lies at the safe, was taken by the network, or is where `treasury show`
 *  says that it is: compared with the chain, to the sun. */
export async function assertExact(town: Town): Promise<Treasury> {
  const { world, safe, paid } = town
  const shown = await show(town)
  const came = paid.reduce((sum, one) => sum + one.sun, 0n)
  const there = new Map(shown.places.map((one) => [one.address, BigInt(one.trx_sun)]))
  for (const { address } of paid)
    assert.equal(await balanceOf(town, address), there.get(address) ?? 0n, address)
  const lies = BigInt(shown.trx_sun + shown.dust_sun)
  const [collected, fees] = [BigInt(shown.collected_sun), BigInt(shown.fees_sun)]
  assert.equal(lies + collected + fees, came, 'nothing is lost, nothing is there twice')
  assert.equal(await balanceOf(town, safe.address), TRX + collected)
  const [ledger] = await world.sql<{ sun: bigint }>`
    select sum(amount_sun)::bigint as sun from transfer where debit = 'treasury:collected'`
  assert.equal(ledger!.sun ?? 0n, collected)
  const left = shown.tokens.find(({ token }) => token === USDT)?.amount ?? 0
  const sent = paid.reduce((sum, { tokens }) => sum + tokens, 0n)
  assert.equal((await tokensOf(town, safe.address)) + BigInt(left), sent)
  return shown
}
