// How a sandbox brings events about: purchases, payments, forks and freezes on its development
// chain, and keys and settings of its customer. What was changed for that is changed back.

import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { type EventType, Penstock, PenstockError, type Result } from 'penstock-sdk'
import type { Row } from '../line/command.ts'
import { Refusal } from '../line/errors.ts'
import type { Access } from '../line/profiles.ts'
import type { Sandbox } from './sandbox.ts'

export type SandboxWorld = {
  penstock: Penstock
  access: Access
  sandbox: Sandbox
  /** Of an account with money. */
  address: string
  signal: AbortSignal
  /** What is to be done when the event is there, the last first, even after Ctrl-C. */
  undo: Deed[]
}

type Deed = (world: SandboxWorld) => Promise<unknown>

const POLL_MS = 200
const DEPOSIT_SUN = 1_000_000
const FEE_LIMIT_SUN = 100_000_000
/** Until a block is irreversible, and one more. */
const BLOCKS_TO_SOLID = 20
const HOUR_SECONDS = 3_700
/** Until nothing that was signed before can come into a block any more. */
const BLOCKS_TO_EXPIRY = 45
const BLOCKS_AT_ONCE = 6
const ENDING_MINUTES = 10
/** Within which the service has most likely read so many blocks, and done what they mean. */
const FOLLOWED_MS = 3_000
const TIMES_MANY = 1_000
/** Others may have come after the one that is meant. */
const FORKED_BLOCKS = 4

/** Asks the development chain. */
async function ask({ sandbox, signal }: SandboxWorld, path: string, body: Row): Promise<Row> {
  const how = { method: 'POST', body: JSON.stringify(body), signal }
  const response = await fetch(sandbox.node_url + path, how)
  const text = await response.text()
  if (!response.ok) throw new Refusal(`The chain refuses ${path}: ${text}`)
  return JSON.parse(text) as Row
}

const mine = (world: SandboxWorld, blocks = BLOCKS_TO_SOLID) =>
  ask(world, '/devchain/mine', { blocks })

const advance = (world: SandboxWorld, seconds: number) =>
  ask(world, '/devchain/advance', { seconds })

/** Takes the newest blocks away again, with what is in them. */
const fork = (world: SandboxWorld) =>
  ask(world, '/devchain/reorg', { blocks: FORKED_BLOCKS, drop_transactions: true })

/** From now on nothing that is sent to the chain gets there. */
async function loseEverything(world: SandboxWorld): Promise<void> {
  world.undo.push((then) => ask(then, '/devchain/clear_faults', { kind: 'drop' }))
  await ask(world, '/devchain/fault', { kind: 'drop', count: TIMES_MANY })
}

/** Sends a transaction of an account, which needs no signature for that. Returns its id. */
async function transact(
  world: SandboxWorld,
  path: string,
  owner: string,
  body: Row,
): Promise<string> {
  await ask(world, '/devchain/impersonate', { address: owner })
  try {
    const made = await ask(world, path, { owner_address: owner, visible: true, ...body })
    const sent = (made.transaction ?? made) as Row
    const { result } = await ask(world, '/wallet/broadcasttransaction', sent)
    if (result !== true) throw new Refusal(`The chain refuses ${JSON.stringify(made)}`)
    await mine(world, 1)
    return String(sent.txID)
  } finally {
    await ask(world, '/devchain/impersonate', { address: owner, allowed: false })
  }
}

function pay(world: SandboxWorld): Promise<string> {
  const to_address = world.sandbox.customer.deposit_address
  const body = { to_address, amount: DEPOSIT_SUN }
  return transact(world, '/wallet/createtransaction', world.address, body)
}

const DIGITS = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/** An address as an argument of a contract. */
function argument(address: string): string {
  let number = 0n
  for (const digit of address) number = number * 58n + BigInt(DIGITS.indexOf(digit))
  // One byte before the address, four of a sum after it.
  return number.toString(16).padStart(50, '0').slice(2, 42).padStart(64, '0')
}

/** Calls the sample token: its owner freezes, anybody transfers. */
function callToken(world: SandboxWorld, owner: string, selector: string, parameter: string) {
  const { token } = world.sandbox
  if (!token) throw new Refusal('The chain of this sandbox has no token of its own.')
  return transact(world, '/wallet/triggersmartcontract', owner, {
    contract_address: token.address,
    function_selector: selector,
    parameter,
    fee_limit: FEE_LIMIT_SUN,
  })
}

async function transferToken(world: SandboxWorld, to: string): Promise<void> {
  const { address } = world
  await ask(world, '/devchain/mint', { address, amount: DEPOSIT_SUN })
  const amount = DEPOSIT_SUN.toString(16).padStart(64, '0')
  await callToken(world, address, 'transfer(address,uint256)', argument(to) + amount)
}

async function buy({ penstock, address, signal }: SandboxWorld): Promise<string> {
  const params = { address, amount: 65_000, duration: 1 }
  const { id } = await penstock.orders.create({ service: 'energy', params }, { signal })
  await penstock.orders.waitFor(id, { signal })
  return id
}

async function subscribe(world: SandboxWorld): Promise<string> {
  const { penstock, address, signal } = world
  const plans: Result<'/v1/subscriptions'> = await penstock.subscriptions.plans({ signal })
  const unlimited = ([, plan]: [string, (typeof plans)[string]]) => plan.transactions_limit === 0
  const [key] = Object.entries(plans).find(unlimited) ?? []
  if (key === undefined) throw new Refusal('No plan here can be stopped again.')
  const wanted = { subscription_id: key, params: { address } }
  const { id } = await penstock.subscriptions.start(wanted, { signal })
  world.undo.push(async ({ signal }) => {
    const { status } = await penstock.subscriptions.check(id, { signal })
    if (status === 'active') await penstock.subscriptions.stop(id, { signal })
  })
  for (;;) {
    const { status, reason } = await penstock.subscriptions.check(id, { signal })
    if (status === 'active') return id
    if (status === 'error') throw new Refusal(`The subscription has failed: ${reason}.`)
    await delay(POLL_MS, undefined, { signal })
  }
}

type NewKey = Parameters<Penstock['keys']['create']>[0]

/** A key that is revoked again. */
async function makeKey({ penstock, signal, undo }: SandboxWorld, limits: Partial<NewKey> = {}) {
  const wanted = { name: 'trigger', scopes: ['read', 'buy'] as NewKey['scopes'], ...limits }
  const made = await penstock.keys.create(wanted, { signal })
  undo.push(({ signal }) => penstock.keys.revoke({ id: made.key.id }, { signal }))
  return made
}

/** Buys with a key that may not spend so much. */
async function reachCap(world: SandboxWorld): Promise<void> {
  const { token, secret } = await makeKey(world, { daily_cap: 1 })
  const poor = new Penstock({ url: world.access.url, token, secret })
  const tried = (): Promise<boolean> =>
    buy({ ...world, penstock: poor }).then(
      () => true,
      (thrown: unknown) => {
        if (thrown instanceof PenstockError) {
          if (thrown.key === 'insufficient_funds.daily_cap') return true
          // After a leap of the chain's time the service takes a while to follow it.
          if (thrown.key === 'service_unavailable') return false
        }
        throw thrown
      },
    )
  while (!(await tried())) await delay(POLL_MS, undefined, { signal: world.signal })
}

type Settings = Parameters<Penstock['settings']['change']>[0]

/** Changes settings until the event is there. */
async function set({ penstock, signal, undo }: SandboxWorld, wanted: Settings): Promise<void> {
  const { balance_low, ending_minutes } = await penstock.settings.get({ signal })
  const before = { balance_low: balance_low ?? 0, ending_minutes: ending_minutes ?? 0 }
  undo.push(({ signal }) => penstock.settings.change(before, { signal }))
  await penstock.settings.change(wanted, { signal })
}

/** A webhook that says that it is gone, and is called. Returns its id. */
async function disableWebhook({ penstock, signal, undo }: SandboxWorld): Promise<string> {
  // No other line needs it, and each would start 40 ms later with it.
  const { createServer } = await import('node:http')
  const server = createServer(
    (request, response) => request.resume() && response.writeHead(410).end(),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  undo.push(async () => server.close())
  const { webhook } = await penstock.webhooks.create({ url, types: ['order.ended'] }, { signal })
  const { id } = webhook
  undo.push(({ signal }) => penstock.webhooks.remove(id, { signal }))
  await penstock.events.trigger({ type: 'order.ended', webhook_id: id }, { signal })
  while ((await penstock.webhooks.check(id, { signal })).state === 'on')
    await delay(POLL_MS, undefined, { signal })
  return id
}

/** Of the customer; Node 20 has no Array.fromAsync. */
async function watchesOf({ penstock, signal }: SandboxWorld) {
  const watches = []
  for await (const watch of penstock.watches.list({}, { signal })) watches.push(watch)
  return watches
}

/** Watches an address, and has the sample token's owner freeze it. */
async function freeze(world: SandboxWorld): Promise<void> {
  const { penstock, address, signal, undo } = world
  const watches = await watchesOf(world)
  if (!watches.some((one) => one.address === address)) {
    undo.push(({ signal }) => penstock.watches.remove(address, { signal }))
    await penstock.watches.add(address, { signal })
  }
  // What its level is before that must be known first.
  for (let known = false; !known; ) {
    const [watch] = await watchesOf(world)
    known = watch?.check?.status === 'completed'
    if (!known) await delay(POLL_MS, undefined, { signal })
  }
  undo.push(lift)
  await callOwner(world, 'addBlackList(address)')
}

const lift = (world: SandboxWorld) => callOwner(world, 'removeBlackList(address)')

/** Calls the sample token as its owner, who alone may freeze. */
async function callOwner(world: SandboxWorld, selector: string): Promise<void> {
  const about = { value: world.sandbox.token?.address, visible: true }
  const { origin_address } = await ask(world, '/wallet/getcontract', about)
  const owner = String(origin_address)
  await ask(world, '/devchain/fund', { address: owner, sun: FEE_LIMIT_SUN })
  await callToken(world, owner, selector, argument(world.address))
  await mine(world)
}

export const SANDBOX_EVENTS: Partial<Record<EventType, Deed>> = {
  'order.created': buy,
  'order.succeeded': buy,
  'order.solid': async (world) => {
    await buy(world)
    await mine(world)
  },
  'order.failed': async (world) => {
    const { penstock, address, signal } = world
    await loseEverything(world)
    const params = { address, amount: 65_000, duration: 1 }
    const { id } = await penstock.orders.create({ service: 'energy', params }, { signal })
    while ((await penstock.orders.check(id, { signal })).status !== 'failed') {
      await mine(world, BLOCKS_TO_EXPIRY)
      await delay(FOLLOWED_MS, undefined, { signal })
    }
  },
  'order.reverted': async (world) => {
    await buy(world)
    await loseEverything(world)
    await fork(world)
    await mine(world, BLOCKS_TO_EXPIRY)
  },
  'order.ending': async (world) => {
    await set(world, { ending_minutes: ENDING_MINUTES })
    await buy(world)
    await advance(world, HOUR_SECONDS - 60 * ENDING_MINUTES)
    await mine(world, 1)
  },
  'order.ended': async (world) => {
    const id = await buy(world)
    await advance(world, HOUR_SECONDS)
    await mine(world)
    const { penstock, signal } = world
    const isEnded = async () =>
      (await penstock.orders.check(id, { signal })).delegations.every((one) => one.reclaimed_at)
    while (!(await isEnded())) {
      // More at once would let what takes it back expire before it is in one.
      await mine(world, BLOCKS_AT_ONCE)
      await delay(FOLLOWED_MS, undefined, { signal })
    }
  },
  'deposit.seen': pay,
  'deposit.credited': async (world) => {
    await pay(world)
    await mine(world)
  },
  'deposit.held': async (world) => {
    await transferToken(world, world.sandbox.customer.deposit_address)
    await mine(world)
  },
  'deposit.gone': async (world) => {
    const { penstock, signal } = world
    const tx_id = await pay(world)
    const seen = () => penstock.deposits.check(tx_id, { signal }).catch(() => undefined)
    while (!(await seen())) await delay(POLL_MS, undefined, { signal })
    await fork(world)
    await mine(world)
  },
  'subscription.started': subscribe,
  'subscription.supplied': subscribe,
  'subscription.used': async (world) => {
    await subscribe(world)
    await transferToken(world, world.sandbox.customer.deposit_address)
    await mine(world)
  },
  'subscription.stopped': async (world) =>
    world.penstock.subscriptions.stop(await subscribe(world)),
  'aml_check.completed': ({ penstock, address, signal }) =>
    penstock.aml.create({ type: 'address', network: 'TRX', address }, { signal }),
  'aml_watch.changed': freeze,
  'freeze.executed': freeze,
  'freeze.lifted': async (world) => {
    await freeze(world)
    await lift(world)
  },
  'key.created': (world) => makeKey(world),
  'key.revoked': async (world) => {
    const { id } = (await makeKey(world)).key
    await world.penstock.keys.revoke({ id }, { signal: world.signal })
  },
  'key.ending': (world) => {
    const ends_at = new Date(Date.now() + 86_400_000).toISOString().slice(0, 19)
    return makeKey(world, { ends_at: `${ends_at}Z` })
  },
  'key.cap_reached': reachCap,
  'balance.low': async (world) => {
    const { balance } = await world.penstock.balance.get({ signal: world.signal })
    await set(world, { balance_low: Math.ceil(balance) + 1 })
  },
  'webhook.disabled': disableWebhook,
  'webhook.enabled': async (world) => {
    const id = await disableWebhook(world)
    await world.penstock.webhooks.change({ id, state: 'on' }, { signal: world.signal })
  },
}
