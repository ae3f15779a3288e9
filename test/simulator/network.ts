// The way from the service to its node, and what can be wrong with it. The node is the development
// chain, in process. A call can be lost before or after the node has done it; a transaction can be
// answered for and never sent on, sent on late, or twice; the node can lie about duplicates, be
// busy, be down, or answer from a height that is behind. Of several nodes, all of the one chain,
// one can lie about what is in blocks.

import type { Devchain } from 'penstock-devchain/devchain.ts'
import type { Transport } from 'penstock-service/chain/node/node.ts'
import { type Aim, Liar } from '../harness/liars.ts'
import type { Dice } from './dice.ts'
import type { Gate, Life } from './gate.ts'

/** How often each thing goes wrong, from 0 to 1. */
export type Troubles = {
  lost_request: number
  lost_answer: number
  busy: number
  false_duplicate: number
  dropped: number
  delayed: number
  doubled: number
  behind: number
}

export const NO_TROUBLES: Troubles = {
  lost_request: 0,
  lost_answer: 0,
  busy: 0,
  false_duplicate: 0,
  dropped: 0,
  delayed: 0,
  doubled: 0,
  behind: 0,
}

type Answer = { status: number; body: string }
type DelayedAnswer = { body: string; at_ms: number }

const LATE_MS_MAX = 75_000
const answer = (value: object): Answer => ({ status: 200, body: JSON.stringify(value) })

export class Network {
  readonly devchain: Devchain
  troubles: Troubles = NO_TROUBLES
  /** So many calls more are not answered. */
  down_for = 0
  /** Told of every fault. */
  onTrouble: (what: string) => void = () => {}
  /** The node that lies about blocks, when it does. */
  readonly liar: Liar
  liar_name = ''
  /** What the liar wants to be believed. */
  aim: Aim = { to: [], sun: 0n, from: '' }
  private readonly dice: Dice
  private delayed: DelayedAnswer[] = []
  /** Transactions that a node took and never sent on. */
  private strays: string[] = []

  constructor(devchain: Devchain, dice: Dice) {
    this.devchain = devchain
    this.dice = dice
    this.liar = new Liar(
      (path, body) => this.read(path, body),
      () => this.aim,
    )
  }

  /** The transport of one instance: each call waits at the gate. */
  transport(gate: Gate, life: Life): Transport {
    return ({ url, body }) => {
      const { pathname, host } = new URL(url)
      const lost = () => new Error('simulated: the node does not answer')
      return gate.pass(life, { kind: 'node', label: pathname, inside: false, lost }, async () =>
        this.call(pathname, body, host),
      )
    }
  }

  private call(path: string, body: string, host: string): Answer {
    const { troubles, dice } = this
    if (this.down_for > 0) {
      this.down_for -= 1
      return this.lose('down')
    }
    if (dice.chance(troubles.lost_request)) return this.lose('request lost')
    const answered =
      path === '/wallet/broadcasthex' ? this.broadcast(body) : this.ask(path, body, host)
    if (dice.chance(troubles.lost_answer)) return this.lose('answer lost')
    return answered
  }

  private lose(what: string): never {
    this.onTrouble(what)
    throw new Error(`simulated: ${what}`)
  }

  private broadcast(body: string): Answer {
    const { troubles, dice } = this
    const said = (code: string, what: string) => {
      this.onTrouble(what)
      return answer({ result: code === 'SUCCESS', code, message: '' })
    }
    if (dice.chance(troubles.busy)) return said('SERVER_BUSY', 'busy')
    if (dice.chance(troubles.false_duplicate))
      return said('DUP_TRANSACTION_ERROR', 'false duplicate')
    if (dice.chance(troubles.dropped)) {
      this.strays.push(body)
      return said('SUCCESS', 'dropped')
    }
    if (dice.chance(troubles.delayed)) {
      this.delayed.push({
        body,
        at_ms: this.devchain.chain.head_time_ms + dice.between(1, LATE_MS_MAX),
      })
      return said('SUCCESS', 'delayed')
    }
    if (dice.chance(troubles.doubled)) this.devchain.request('POST', '/wallet/broadcasthex', body)
    return this.devchain.request('POST', '/wallet/broadcasthex', body)
  }

  /** Whether a transaction is still held up somewhere. */
  get isLate(): boolean {
    return this.delayed.length > 0
  }

  /** Transactions that were held up reach the chain now, if their time has come. */
  deliverLate(): void {
    const now_ms = this.devchain.chain.head_time_ms
    const due = this.delayed.filter(({ at_ms }) => at_ms <= now_ms)
    this.delayed = this.delayed.filter(({ at_ms }) => at_ms > now_ms)
    for (const { body } of due) this.devchain.request('POST', '/wallet/broadcasthex', body)
  }

  /** What reached no producer of this branch. */
  stray(transactions: readonly string[]): void {
    this.strays.push(...transactions.map((transaction) => JSON.stringify({ transaction })))
  }

  /** On another branch they may have arrived. */
  deliverStrays(): void {
    for (const body of [...this.strays, ...this.delayed.map((one) => one.body)]) {
      if (this.dice.chance(0.8)) this.devchain.request('POST', '/wallet/broadcasthex', body)
    }
  }

  private ask(path: string, body: string, host: string): Answer {
    if (host !== this.liar_name) return this.read(path, body)
    const before = this.liar.told
    const said = this.liar.answer(path, body)
    if (this.liar.told > before) this.onTrouble(`${host} lies: it ${this.liar.lie}`)
    return said
  }

  /** A read; at times from a node that is some blocks behind, as behind a provider's balancer. */
  private read(path: string, body: string): Answer {
    const fresh = this.devchain.request('POST', path, body)
    if (!this.dice.chance(this.troubles.behind)) return fresh
    const { chain } = this.devchain
    const solid = path.startsWith('/walletsolidity/')
    const newest = (solid ? chain.solid_block : chain.head).header.number - this.dice.between(1, 5)
    if (newest < 1) return fresh
    const [, , name] = path.split('/')
    const asked = JSON.parse(body) as { startNum?: number; endNum?: number; value?: string }
    this.onTrouble(`${name} ${newest} is behind`)
    if (name === 'getblock') {
      return this.devchain.request(
        'POST',
        path,
        JSON.stringify({ ...asked, id_or_num: String(newest) }),
      )
    }
    if (name === 'getblockbylimitnext') {
      const endNum = Math.min(asked.endNum!, newest + 1)
      return this.devchain.request('POST', path, JSON.stringify({ ...asked, endNum }))
    }
    if (name === 'gettransactionbyid') {
      const place = chain.placeOf(asked.value!)
      return place !== undefined && place.block > newest ? answer({}) : fresh
    }
    return fresh
  }
}
