// Events to try a receiver with: samples, and on a sandbox what really happens.

import { setTimeout as delay } from 'node:timers/promises'
import type { EventType, ListedEvent, Penstock, Result } from 'penstock-sdk'
import { type Command, field, type Invocation, type Outcome } from '../line/command.ts'
import { EVENT_TYPES } from '../line/endpoints.ts'
import { Misuse, Refusal } from '../line/errors.ts'
import { readSandbox, type Sandbox } from './account.ts'

type Row = Record<string, unknown>
type World = { penstock: Penstock; sandbox: Sandbox; address: string; signal: AbortSignal }

const EVENT_MS_MAX = 120_000
const POLL_MS = 200
const DEPOSIT_SUN = 1_000_000
/** Until a block is irreversible, and one more. */
const BLOCKS_TO_SOLID = 20
const HOUR_SECONDS = 3_700

/** Asks the development chain. */
async function ask({ sandbox, signal }: World, path: string, body: Row): Promise<Row> {
  const how = { method: 'POST', body: JSON.stringify(body), signal }
  const response = await fetch(sandbox.node_url + path, how)
  const text = await response.text()
  if (!response.ok) throw new Refusal(`The chain refuses ${path}: ${text}`)
  return JSON.parse(text) as Row
}

async function buy(world: World): Promise<void> {
  const { penstock, address, signal } = world
  const params = { address, amount: 65_000, duration: 1 }
  const order = await penstock.orders.create({ service: 'energy', params }, { signal })
  await penstock.orders.waitFor(order.id, { signal })
}

/** Pays to the deposit address, from an account that needs no signature on this chain. */
async function deposit(world: World): Promise<void> {
  const { sandbox, address } = world
  await ask(world, '/devchain/impersonate', { address })
  try {
    const transaction = await ask(world, '/wallet/createtransaction', {
      owner_address: address,
      to_address: sandbox.customer.deposit_address,
      amount: DEPOSIT_SUN,
      visible: true,
    })
    await ask(world, '/wallet/broadcasttransaction', transaction)
    await ask(world, '/devchain/mine', { blocks: 1 })
  } finally {
    await ask(world, '/devchain/impersonate', { address, allowed: false })
  }
}

async function subscribe({ penstock, address, signal }: World): Promise<string> {
  const plans: Result<'/v1/subscriptions'> = await penstock.subscriptions.plans({ signal })
  const unlimited = ([, plan]: [string, (typeof plans)[string]]) => plan.transactions_limit === 0
  const [key] = Object.entries(plans).find(unlimited) ?? []
  if (key === undefined) throw new Refusal('No plan here can be stopped again.')
  const wanted = { subscription_id: key, params: { address } }
  const { id } = await penstock.subscriptions.start(wanted, { signal })
  for (;;) {
    const { status, reason } = await penstock.subscriptions.check(id, { signal })
    if (status === 'active') return id
    if (status === 'error') throw new Refusal(`The subscription has failed: ${reason}.`)
    await delay(POLL_MS, undefined, { signal })
  }
}

async function makeKey({ penstock, signal }: World): Promise<string> {
  const { key } = await penstock.keys.create({ name: 'trigger', scopes: ['read'] }, { signal })
  return key.id
}

const revoke = ({ penstock, signal }: World, id: string) => penstock.keys.revoke({ id }, { signal })

/** How a sandbox brings a type about. */
const REAL: Partial<Record<EventType, (world: World) => Promise<unknown>>> = {
  'order.created': buy,
  'order.succeeded': buy,
  'order.ended': async (world) => {
    await buy(world)
    await ask(world, '/devchain/advance', { seconds: HOUR_SECONDS })
    await ask(world, '/devchain/mine', { blocks: BLOCKS_TO_SOLID })
  },
  'deposit.seen': deposit,
  'deposit.credited': async (world) => {
    await deposit(world)
    await ask(world, '/devchain/mine', { blocks: BLOCKS_TO_SOLID })
  },
  'subscription.started': async (world) =>
    world.penstock.subscriptions.stop(await subscribe(world)),
  'subscription.stopped': async (world) =>
    world.penstock.subscriptions.stop(await subscribe(world)),
  'aml_check.completed': ({ penstock, address, signal }) =>
    penstock.aml.create({ type: 'address', network: 'TRX', address }, { signal }),
  'key.created': async (world) => revoke(world, await makeKey(world)),
  'key.revoked': async (world) => revoke(world, await makeKey(world)),
}

/** Waits for an event. */
async function eventAfter(
  { penstock, signal }: World,
  type: EventType,
  after: number,
): Promise<ListedEvent> {
  const late = AbortSignal.timeout(EVENT_MS_MAX)
  const both = AbortSignal.any([signal, late])
  const wanted = { types: [type], after }
  try {
    for await (const event of penstock.events.stream(wanted, { signal: both })) return event
  } catch (thrown) {
    if (!late.aborted) throw thrown
  }
  throw new Refusal(`No ${type} within ${EVENT_MS_MAX / 1_000} s.`)
}

async function happen(invocation: Invocation, type: EventType): Promise<ListedEvent> {
  const { penstock, access, io } = invocation
  if (access.sandbox === undefined)
    throw new Misuse('--real is for a sandbox: penstock login --sandbox DIR.')
  const make = REAL[type]
  if (!make)
    throw new Misuse(`A sandbox does not bring ${type} about: ${Object.keys(REAL).join(', ')}.`)
  const sandbox = await readSandbox(access.sandbox)
  const [account] = sandbox.funded_accounts
  if (!account) throw new Refusal('The sandbox has no account with money.')
  const world = { penstock, sandbox, address: account.address, signal: io.signal }
  const newest = await penstock.events.list({ limit: 1 }, { signal: io.signal }).next()
  const after = newest.done ? 0 : newest.value.number
  await make(world)
  return eventAfter(world, type, after)
}

export const TRIGGER: readonly Command[] = [
  {
    words: 'trigger',
    summary: 'A sample event for those who stream with tests; --real makes it happen on a sandbox',
    path: '/v1/event/trigger',
    filled: ['type'],
    operands: ['type'],
    own: [
      field('type', '', { words: EVENT_TYPES, needed: true }),
      field('real', 'make it happen, on the sandbox of the profile', { type: 'yes' }),
    ],
    async run(invocation): Promise<Outcome> {
      const { penstock, body, own, io } = invocation
      const type = own.type as EventType
      if (own.real === true) return { value: await happen(invocation, type) }
      return { value: await penstock.events.trigger({ ...body, type }, { signal: io.signal }) }
    },
  },
]
