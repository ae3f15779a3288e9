// The part of Penstock that screens, on a database and the development chain: blocks are followed,
// recorded and indexed by the real steps. A test moves money, makes it solid, drains, and asks.

import type { TestContext } from 'node:test'
import { selectorOf, wordOfAddress, wordOfInteger } from 'penstock-devchain/calls/abi.ts'
import { USDT } from 'penstock-devchain/devchain.ts'
import { type Person, person, Scene, TRX } from 'penstock-devchain/scene.ts'
import { followStep } from 'penstock-service/chain/follow/follower.ts'
import { type Node, tronNode } from 'penstock-service/chain/node/node.ts'
import type { TransferArchive } from 'penstock-service/chain/transfers/transfer_archive.ts'
import {
  customerAccount,
  move,
  openAccount,
  WORLD,
} from 'penstock-service/ledger/accounts/ledger.ts'
import { idMaker, type NewId } from 'penstock-service/lib/ids.ts'
import { connect, type Sql } from 'penstock-service/platform/database/sql.ts'
import { drain, type Step } from 'penstock-service/platform/steps/step.ts'
import {
  type Needs as AnsweringNeeds,
  askProvidersStep,
  failLateStep,
  screenStep,
} from 'penstock-service/screening/checks/answering.ts'
import type { Check } from 'penstock-service/screening/checks/checks.ts'
import { foldCountsStep } from 'penstock-service/screening/checks/history.ts'
import {
  type CheckPlacement,
  checkPlacer,
  type NewCheck,
} from 'penstock-service/screening/checks/placing.ts'
import { issuersOf } from 'penstock-service/screening/engine/issuers.ts'
import type { KeptPlace } from 'penstock-service/screening/kept/kept_folder.ts'
import type { Provider } from 'penstock-service/screening/providers/provider.ts'
import { recordStep } from 'penstock-service/screening/tracing/flow_log.ts'
import {
  flowGenerations,
  type Generations,
  pruneIndexStep,
} from 'penstock-service/screening/tracing/generations.ts'
import { type SentReading, sentReading } from 'penstock-service/screening/tracing/sent.ts'
import { addressToHex } from 'penstock-tron/address.ts'
import { addressOf } from 'penstock-tron/keys.ts'
import { freshDatabase } from './database.ts'
import { type BriefEntry, publishLabels } from './labels.ts'

export { USDT } from 'penstock-devchain/devchain.ts'
export { type Person, person, TRX } from 'penstock-devchain/scene.ts'

const SOLID = 20

export type ScreeningOptions = {
  carried_blocks?: number
  checkpoint_transfers?: number
  hub_counterparties?: number
  archive?: TransferArchive
}

/** One process: its own index. */
export type ScreeningProcess = {
  generations: Generations
  sent: SentReading
  steps: Step[]
  place: (wanted: NewCheck) => Promise<CheckPlacement>
}

export async function makeScreeningWorld(
  t: TestContext,
  options: ScreeningOptions = {},
): Promise<ScreeningWorld> {
  const world = new ScreeningWorld(t, await freshDatabase(t), options)
  await world.begin()
  return world
}

export class ScreeningWorld {
  readonly sql: Sql
  readonly url: string
  readonly scene: Scene
  private readonly test: TestContext
  readonly node: Node
  readonly new_id: NewId
  readonly clock = { now: () => new Date(this.now_ms) }
  readonly options: Required<Omit<ScreeningOptions, 'archive'>>
  readonly archive: TransferArchive | undefined
  /** Outside services. */
  readonly providers: Provider[] = []
  /** The node does not answer. */
  down = false
  /** What the node says instead of what the chain answers; undefined: it does not answer. */
  says: (path: string, said: string) => string | undefined = (_path, said) => said
  process!: ScreeningProcess
  now_ms: number
  private people = 0

  constructor(
    t: TestContext,
    { sql, url }: { sql: Sql; url: string },
    { archive, ...options }: ScreeningOptions,
    scene?: Scene,
  ) {
    this.archive = archive
    this.test = t
    this.sql = sql
    this.url = url
    this.options = {
      carried_blocks: 10_000,
      checkpoint_transfers: 1_000_000,
      hub_counterparties: 5_000,
      ...options,
    }
    this.scene = scene ?? new Scene({ bank: 1_000_000_000n * TRX })
    this.scene.leaveBlocksUnsigned()
    this.now_ms = this.scene.devchain.head.header.timestamp + 1_000
    let seed = 1
    const bytes = (length: number) =>
      Uint8Array.from({ length }, () => {
        seed = (seed * 48271) % 2147483647
        return seed & 255
      })
    this.new_id = idMaker(this.clock, { bytes })
    this.node = tronNode({
      nodes: [{ url: 'http://devchain' }],
      transport: async ({ url, body }) => {
        if (this.down) throw new Error('ECONNREFUSED')
        const { pathname } = new URL(url)
        const answer = this.scene.devchain.request('POST', pathname, body)
        const said = this.says(pathname, answer.body)
        if (said === undefined) throw new Error('ECONNREFUSED')
        return { ...answer, body: said }
      },
    })
  }

  /** A second service, with a database of its own, that begins to follow the same chain now. */
  async another(): Promise<ScreeningWorld> {
    const world = new ScreeningWorld(
      this.test,
      await freshDatabase(this.test),
      this.options,
      this.scene,
    )
    await world.begin()
    return world
  }

  async begin(): Promise<void> {
    this.process = this.startProcess()
    await this.drain()
  }

  /** `kept`: where its index is kept; left out: in memory. */
  startProcess(sql: Sql = this.sql, kept?: KeptPlace): ScreeningProcess {
    const { clock, node, new_id, options, archive } = this
    const flow = { sql, clock, ...options, kept, archive }
    const generations = flowGenerations(flow)
    const sent = sentReading({ sql, clock, generations, kept })
    const tokens = new Set([USDT])
    const answering: AnsweringNeeds = {
      sql,
      clock,
      reads: () => node,
      generations,
      sent,
      carried_blocks: options.carried_blocks,
      issuers: issuersOf({ sql, clock, node }),
      providers: this.providers,
    }
    const steps = [
      followStep({ sql, clock, node, tokens }),
      recordStep({ sql, node, tokens }),
      generations.step,
      sent.step,
      screenStep(answering),
      askProvidersStep(answering),
      failLateStep(answering),
      foldCountsStep({ sql }),
      pruneIndexStep(flow),
    ]
    return { generations, sent, steps, place: checkPlacer({ sql, clock, new_id, wake: () => {} }) }
  }

  connect(): Sql {
    return connect({ url: this.url })
  }

  async drain(process = this.process): Promise<void> {
    await drain(process.steps)
  }

  /** Everything but one step, which is held. */
  async drainWithout(name: string, process = this.process): Promise<void> {
    await drain(process.steps.filter((step) => step.name !== name))
  }

  mine(blocks = 1): void {
    this.scene.mine(blocks)
    this.now_ms = this.scene.devchain.head.header.timestamp + 1_000
  }

  /** Makes what has happened solid, and lets it be indexed. */
  async settle(): Promise<void> {
    this.mine(SOLID)
    await this.drain()
  }

  /** Somebody with an account; the money that it begins with is made by decree and is not a
   *  transfer. */
  person(name = `person-${++this.people}`): Person {
    const one = person(name)
    this.scene.devchain.fund(one.address, 1_000_000n * TRX)
    this.scene.post('/devchain/mint', { address: one.address, amount: 1_000_000_000_000n })
    return one
  }

  /** Sends TRX, in sun. Returns the transaction's id. */
  send(from: Person, to: Person, sun: bigint): string {
    return this.broadcast(from, 'TransferContract', { to_address: to.hex, amount: sun })
  }

  /** Sends the token, in its smallest unit. */
  sendToken(from: Person, to: Person, units: bigint): string {
    const data =
      selectorOf('transfer(address,uint256)') + wordOfAddress(to.hex) + wordOfInteger(units)
    return this.call(from, data)
  }

  /** Puts an address onto the token's freeze list, or takes it off, by a transaction of its
   *  owner. */
  freeze(who: Person, frozen: boolean): string {
    const name = frozen ? 'addBlackList(address)' : 'removeBlackList(address)'
    const owner = this.tokenOwner()
    this.scene.devchain.fund(owner.address, 10_000n * TRX)
    return this.call(owner, selectorOf(name) + wordOfAddress(who.hex))
  }

  private tokenOwner(): Person {
    const key = this.scene.devchain.usdt_owner_key
    const address = addressOf(key)
    return { key, address, hex: addressToHex(address) }
  }

  private call(from: Person, data: string): string {
    const message = { contract_address: addressToHex(USDT), data }
    return this.broadcast(from, 'TriggerSmartContract', message, 1_000n * TRX)
  }

  private broadcast(
    from: Person,
    type: string,
    message: Record<string, string | bigint>,
    fee_limit = 0n,
  ): string {
    const answer = this.scene.send(from, type, message, fee_limit > 0n ? { fee_limit } : {})
    if (answer.result !== true) throw new Error(`${answer.code}: ${answer.message}`)
    this.mine()
    return String(answer.txid)
  }

  /** Publishes what a list says. */
  publish(list: string, entries: readonly BriefEntry[]) {
    return publishLabels(this.sql, entries, { at: this.clock.now(), list })
  }

  /** A customer with an account and so much TRX. */
  async customer(trx = 1_000): Promise<string> {
    const id = this.new_id()
    await this.sql.begin(async (tx) => {
      await openAccount(tx, customerAccount(id))
      const amount_sun = BigInt(trx) * TRX
      if (trx > 0)
        await move(tx, {
          id: `gift:${id}`,
          debit: WORLD,
          credit: customerAccount(id),
          amount_sun,
          made_at: this.clock.now(),
        })
    })
    return id
  }

  /** Asks, drains, and returns the check as it then stands. */
  async ask(
    wanted: Partial<NewCheck> & Pick<NewCheck, 'customer_id' | 'address'>,
    process = this.process,
  ): Promise<Check> {
    const { check } = await process.place({ ...ADDRESS_CHECK, ...wanted })
    await this.drain(process)
    return this.check(check.id)
  }

  async check(id: string): Promise<Check> {
    const [check] = await this.sql<Check>`select * from aml_check where id = ${id}`
    return check!
  }

  async evidence(id: string): Promise<Facts> {
    const [row] = await this.sql<{
      canonical: string
    }>`select canonical from aml_evidence where check_id = ${id}`
    return JSON.parse(row!.canonical) as Facts
  }
}

/** Evidence, as far as tests look into it. */
export type Facts = {
  engine: string
  label_set: string
  bars: {
    label_set: string
    labels: Record<string, string>[]
    frozen: { token: string; block: string }[]
    issuers: { token: string; said: string; at: string | null }[]
  } | null
  answers?: { name: string; score: string | null; blacklist: boolean }[]
  notes: string[]
  blacklisted_by: string[]
  index: Record<string, string>
  screened: {
    address: string
    frozen_by_issuer: boolean
    in_force: Record<string, unknown> | null
    labels: Record<string, string>[]
  }
  factors: {
    category: string
    share: string
    usd: string
    direct_usd: string
    mean_hops: string | null
    units: Record<string, string>
    origins: Record<string, string>[]
    path: { tx_id: string; from: string; to: string; amount: string; carried: string | null }[]
  }[]
  floors: { rule: string; category: string | null; points: string; of?: string }[]
  /** Of policies that look beyond all that was received. */
  counted: Record<'net_new' | 'recent', Record<string, { share: string; usd: string }>>
  sent: {
    generation: string
    last_block: string
    ended: Record<string, { share: string; usd: string }>
  } | null
  result: Record<string, unknown>
}

const ADDRESS_CHECK = {
  idempotency_key: null,
  type: 'address',
  network: 'TRX',
  hash: null,
  direction: null,
} as const
