// One process of the service: an App with its memory, its steps and its front door. Killing it
// loses everything but what is in the database and on the chain.

import type { FastifyInstance } from 'fastify'
import { type App, buildApp } from 'penstock-service/app.ts'
import { joinReaders } from 'penstock-service/chain/follow/cursors.ts'
import { type Node, tronNode } from 'penstock-service/chain/node/node.ts'
import { memoryLog, type SignatureRecord } from 'penstock-service/chain/signing/signature_log.ts'
import type { Clock } from 'penstock-service/lib/clock.ts'
import type { Log } from 'penstock-service/lib/log.ts'
import type { Sql } from 'penstock-service/platform/database/sql.ts'
import { buildServer } from 'penstock-service/platform/http/server.ts'
import { dueAsker } from 'penstock-service/platform/steps/due.ts'
import { type AskDue, drain, type Step, wakesOf } from 'penstock-service/platform/steps/step.ts'
import type { Dice } from './dice.ts'
import { type Gate, Life } from './gate.ts'
import { Connections, heldSql } from './held_sql.ts'
import type { Network } from './network.ts'
import type { Receiver } from './receiver.ts'
import type { Scenario } from './scenario.ts'

export type Surroundings = {
  sql: Sql
  gate: Gate
  network: Network
  receiver: Receiver
  scenario: Scenario
  dice: Dice
  clock: Clock
  /** How many nodes the service knows; all of them are the one chain. */
  nodes: number
  /** Whether its readers of blocks read together. */
  joined: boolean
  recharge_at: 'inclusion' | 'solid'
  /** What was signed on its machine, which outlives it. */
  signed: SignatureRecord[]
  /** Told of what the service itself calls a mistake of ours. */
  onBug: (what: string) => void
}

const SEALING = { current: 'k1', keys: { k1: new Uint8Array(32).fill(7) } }

export class Instance {
  readonly life: Life
  readonly app: App
  /** Its nodes, for what operators ask of them. */
  readonly node: Node
  /** The database as this process sees it, for what operators do there. */
  readonly sql: Sql
  readonly connections = new Connections()
  /** Steps that were woken since they last ran. */
  readonly woken = new Set<string>()
  /** When it last began to follow the chain. */
  followed_at_ms = 0
  /** When each step last began to run. */
  private readonly began_ms = new Map<string, number>()
  /** Steps that are running. */
  readonly running = new Set<Step>()
  private readonly wakes: ReturnType<typeof wakesOf>
  /** Past the gate: what is due changes nothing. */
  readonly askDue: AskDue
  readonly signed: SignatureRecord[]
  /** Its own clock, which may be wrong. */
  readonly clock: Clock
  private readonly gate: Gate
  private readonly build: () => Promise<FastifyInstance>
  private server: Promise<FastifyInstance> | undefined

  constructor(
    name: string,
    { sql, gate, network, scenario, dice, clock, ...settings }: Surroundings,
  ) {
    this.life = new Life(name)
    this.signed = settings.signed
    this.gate = gate
    this.clock = clock
    const held = heldSql(sql, gate, this.life, this.connections)
    this.sql = held
    const node = tronNode({
      nodes: Array.from({ length: settings.nodes }, (_, i) => ({ url: `http://node${i}` })),
      transport: network.transport(gate, this.life),
    })
    this.node = node
    const log: Log = (event, { error = '', path = '' } = {}) => {
      const failed = event === 'request_failed' || event === 'webhook_failed'
      if (failed && !this.life.dead && !String(error).startsWith('Outage'))
        settings.onBug(`${event} ${path}: ${error}`)
    }
    const pauses = dice.fork('pauses')
    const random = { bytes: (length: number) => dice.bytes(length) }
    this.app = buildApp({
      sql: held,
      clock,
      random,
      node,
      log,
      wallets: scenario.wallets,
      sealing: SEALING,
      tokens: new Set(),
      recharge_at: settings.recharge_at,
      claim_min_sun: 1n,
      signed: memoryLog(settings.signed),
      // The wallets here act with their owners' keys.
      keys: { allow_wide_keys: true, found: { complaints: [], stakes: scenario.stakes } },
      webhooks: {
        caller: settings.receiver.caller(gate, this.life),
        process: name,
        chance: () => pauses.next(),
        // A run of the step ends when all have been told.
        wait: () => new Promise<void>(() => {}),
        user_agent: 'Penstock/simulator',
      },
      about: { version: 'simulator', public_url: undefined },
      wake: (step) => this.woken.add(step),
      tellStreams: () => {},
    })
    if (settings.joined) this.app.steps = joinReaders(held, this.app.steps)
    this.wakes = wakesOf(this.app.steps)
    this.askDue = dueAsker(sql, this.app.steps)
    const needs = { sql: held, clock, random, log, authenticate: this.app.authenticate }
    this.build = () => buildServer(needs, { endpoints: this.app.endpoints, check_replies: true })
  }

  /** A request at the front door. Never answered when the instance is killed meanwhile. */
  async post(
    path: string,
    headers: Record<string, string>,
    body: string,
  ): Promise<{ status: number; body: string }> {
    this.server ??= this.openDoor()
    const server = await this.server
    const answer = await server.inject({
      method: 'POST',
      url: path,
      headers,
      payload: Buffer.from(body),
    })
    return { status: answer.statusCode, body: answer.body }
  }

  private async openDoor(): Promise<FastifyInstance> {
    this.gate.preparing += 1
    const server = await this.build()
    await server.ready()
    this.gate.preparing -= 1
    return server
  }

  /** Runs a step once, and notes what it wakes. True when it moved something. */
  async run(step: Step): Promise<boolean> {
    this.running.add(step)
    this.woken.delete(step.name)
    this.began_ms.set(step.name, this.clock.now().getTime())
    try {
      const moved = await step.run()
      if (moved) for (const name of [step.name, ...this.wakes.get(step.name)!]) this.woken.add(name)
      return moved
    } finally {
      this.running.delete(step)
    }
  }

  /** Runs those of these steps that were woken, those that have rested for as long as they may, as
   *  in production, and `follow`, which hears of nothing; on demand all that have rested since the
   *  clock last moved; then whom they wake, until none moves. */
  async drain(steps: readonly Step[], { rested }: { rested: boolean }): Promise<void> {
    const now_ms = this.clock.now().getTime()
    for (const { name, rest_ms } of steps) {
      const rest = now_ms - (this.began_ms.get(name) ?? 0)
      if (name === 'follow' || rest >= (rested ? 1 : rest_ms)) this.woken.add(name)
    }
    const running = steps.map((step) => ({ ...step, run: () => this.run(step) }))
    await drain(running, { woken: this.woken, rounds_max: 50, ask: this.askDue })
  }
}
