// Events to try a receiver with: samples, and on a sandbox what really happens.

import type { EventType, ListedEvent } from 'penstock-sdk'
import { type Command, field, type Invocation, type Outcome } from '../line/command.ts'
import { EVENT_TYPES } from '../line/endpoints.ts'
import { Misuse, Refusal } from '../line/errors.ts'
import { readSandbox } from '../sandbox/sandbox.ts'
import { SANDBOX_EVENTS, type SandboxWorld } from '../sandbox/sandbox_events.ts'

const EVENT_MS_MAX = 120_000
const UNDO_MS_MAX = 10_000

/** Waits for an event. */
async function eventAfter(
  { penstock, signal }: SandboxWorld,
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
  const make = SANDBOX_EVENTS[type]
  const known = Object.keys(SANDBOX_EVENTS).join(', ')
  if (!make) throw new Misuse(`A sandbox does not bring ${type} about: ${known}.`)
  const sandbox = await readSandbox(access.sandbox)
  const [account] = sandbox.funded_accounts
  if (!account) throw new Refusal('The sandbox has no account with money.')
  const { signal } = io
  const world = { penstock, access, sandbox, address: account.address, signal, undo: [] }
  const newest = await penstock.events.list({ limit: 1 }, { signal }).next()
  const after = newest.done ? 0 : newest.value.number
  try {
    await make(world)
    return await eventAfter(world, type, after)
  } finally {
    await undoAll(world)
  }
}

/** Whatever has gone wrong, the rest is undone all the same. */
async function undoAll(world: SandboxWorld): Promise<void> {
  const signal = AbortSignal.timeout(UNDO_MS_MAX)
  for (const undo of world.undo.reverse()) await undo({ ...world, signal }).catch(() => {})
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
