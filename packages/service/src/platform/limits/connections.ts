// The connections of a server: how many there may be, and how long one may take what it asked for.
//
// A connection is a stranger's until a request with a right signature came over it, and never
// again. When there are too many, a stranger's makes room, first one that is idle: of the same
// address when that one has too many, else of the address with the most strangers. Connections of
// customers are never closed for that. Once a second we look at all of them: anyone who does not
// take what was written for him, or idles as a stranger, is let go.

import type { BlockList, Socket } from 'node:net'
import type { Clock } from '../../lib/clock.ts'
import { isListed, networkOf, plainAddress } from '../../lib/networks.ts'

export type ConnectionLimits = {
  total_max: number
  /** Of one IPv4 address, or of one /64 of IPv6; trusted proxies have no limit of their own. */
  per_address_max: number
  /** Within this time everything that was written has to be on its way to the other side. */
  unread_ms_max: number
  /** For a stranger; customers stay for the keep-alive time of the server. Below `unread_ms_max`:
   *  what the kernel keeps for somebody who does not read is out of our sight, and goes with the
   *  connection. */
  stranger_idle_ms_max: number
  /** Requests of one connection whose answers are not written yet. */
  unanswered_max: number
}

type Connection = {
  ip: string
  network: string
  /** From a proxy that speaks for many. */
  shared: boolean
  stranger: boolean
  /** Its last answer is written: what comes behind that is not looked at. */
  over: boolean
  unanswered: number
  quiet_since_ms: number
  /** So many bytes have to be taken; the time is when they were there first. */
  unread: { until_byte: number; since_ms: number } | undefined
  ended_since_ms: number | undefined
}

/** Why a connection was closed, or not taken. */
export type CloseReason = 'limit_of_address' | 'limit' | 'makes_room' | 'does_not_read' | 'idle'

type Needs = { clock: Clock; proxies: BlockList; onClosing: (why: CloseReason, ip: string) => void }

/** Time between two looks beyond this was ours: nobody could be heard meanwhile, so it counts
 *  against nobody. */
const LOOK_MS_MAX = 2_000
/** Anyone who has our last word and does not hang up is given this long. */
const ENDED_MS_MAX = 5_000
/** More than this may be in the kernel, unread; then a farewell would wait behind it. */
const KERNEL_BYTES = 64 * 1024
/** Once the server closes, a request that is not whole by then is not waited for: Node itself stops
 *  looking at how long they take. As long as a request may take otherwise. */
const CLOSING_MS_MAX = 15_000

/** Whether a server that began to close so long ago still waits for what comes over a connection:
 *  for one that never sent anything it does not. */
export const isWaitedFor = (socket: Socket, closing_ms: number, ms_max = CLOSING_MS_MAX): boolean =>
  closing_ms < ms_max && socket.bytesRead > 0

export class Connections {
  private readonly needs: Needs
  private readonly limits: ConnectionLimits
  private readonly open = new Map<Socket, Connection>()
  /** Milliseconds in which we looked after them, and when we did last. */
  private now_ms = 0
  private looked_at_ms: number | undefined
  private closing_since_ms: number | undefined
  private readonly count_of = new Map<string, number>()
  private readonly strangers_of = new Map<string, Set<Socket>>()

  constructor(needs: Needs, limits: ConnectionLimits) {
    this.needs = needs
    this.limits = limits
  }

  get count(): number {
    return this.open.size
  }

  /** The server has closed, and so has every connection. */
  get over(): boolean {
    return this.closing_since_ms !== undefined && this.open.size === 0
  }

  /** Takes a new connection, for which another may have to go. False: there is no room for it. */
  add(socket: Socket): boolean {
    const ip = plainAddress(socket.remoteAddress ?? '')
    const network = networkOf(ip)
    const shared = isListed(this.needs.proxies, ip)
    const mine = shared ? 0 : (this.count_of.get(network) ?? 0)
    const { per_address_max, total_max } = this.limits
    if (mine >= per_address_max && !this.makeRoom(network))
      return this.refuse('limit_of_address', ip)
    if (this.open.size >= total_max && !this.makeRoom(this.mostStrangers()))
      return this.refuse('limit', ip)
    this.open.set(socket, {
      ip,
      network,
      shared,
      stranger: !shared,
      over: false,
      unanswered: 0,
      quiet_since_ms: this.now_ms,
      unread: undefined,
      ended_since_ms: undefined,
    })
    if (!shared) {
      this.count_of.set(network, (this.count_of.get(network) ?? 0) + 1)
      const strangers = this.strangers_of.get(network) ?? new Set()
      this.strangers_of.set(network, strangers.add(socket))
    }
    socket.on('close', () => this.remove(socket))
    return true
  }

  /** A request has come. False: too many of this connection are not answered yet. */
  asked(socket: Socket): boolean {
    const connection = this.open.get(socket)
    if (!connection) return true
    connection.unanswered += 1
    return connection.unanswered <= this.limits.unanswered_max
  }

  /** Its answer is written. Says whether the connection is a stranger's. */
  answered(socket: Socket): boolean {
    const connection = this.open.get(socket)
    if (!connection) return false
    connection.unanswered = Math.max(0, connection.unanswered - 1)
    connection.quiet_since_ms = this.now_ms
    return connection.stranger
  }

  /** The answer that is written now is the last one, if the connection is a stranger's. Says
   *  whether it is. */
  endStrangers(socket: Socket): boolean {
    const connection = this.open.get(socket)
    if (!connection?.stranger) return false
    connection.over = true
    return true
  }

  /** Whether what comes over it is still looked at. */
  listensTo(socket: Socket): boolean {
    return this.open.get(socket)?.over !== true
  }

  /** A request with a right signature has come over it. */
  isCustomers(socket: Socket): void {
    const connection = this.open.get(socket)
    if (!connection?.stranger) return
    connection.stranger = false
    this.leaveStrangers(socket, connection)
  }

  /** The server closes: at the next look a connection that never sent anything is let go, and each
   *  other one has a last quarter of a minute. */
  closeSoon(): void {
    this.closing_since_ms ??= this.now_ms
  }

  /** Closes those that do not take what was written for them, and strangers that idle. */
  sweep(): void {
    const at_ms = this.needs.clock.now().getTime()
    const passed_ms = at_ms - (this.looked_at_ms ?? at_ms)
    this.looked_at_ms = at_ms
    this.now_ms += Math.max(0, Math.min(passed_ms, LOOK_MS_MAX))
    const { now_ms } = this
    for (const [socket, connection] of this.open) {
      const why = this.reasonToClose(socket, connection, now_ms)
      if (why) this.close(socket, connection, why)
    }
  }

  private reasonToClose(
    socket: Socket,
    connection: Connection,
    now_ms: number,
  ): CloseReason | undefined {
    const { unread_ms_max, stranger_idle_ms_max } = this.limits
    const { closing_since_ms } = this
    if (closing_since_ms !== undefined && !isWaitedFor(socket, now_ms - closing_since_ms))
      return 'idle'
    if (socket.writableLength > 0) {
      const taken = socket.bytesWritten - socket.writableLength
      if (!connection.unread || taken >= connection.unread.until_byte)
        connection.unread = { until_byte: socket.bytesWritten, since_ms: now_ms }
      return now_ms - connection.unread.since_ms >= unread_ms_max ? 'does_not_read' : undefined
    }
    connection.unread = undefined
    if (socket.writableEnded) {
      connection.ended_since_ms ??= now_ms
      return now_ms - connection.ended_since_ms >= ENDED_MS_MAX ? 'idle' : undefined
    }
    const idle = connection.stranger && connection.unanswered === 0
    return idle && now_ms - connection.quiet_since_ms >= stranger_idle_ms_max ? 'idle' : undefined
  }

  private close(socket: Socket, connection: Connection, why: CloseReason): void {
    this.forget(socket, connection)
    if (why === 'idle' && socket.bytesWritten <= KERNEL_BYTES) socket.destroy()
    else socket.resetAndDestroy()
    if (why !== 'idle') this.needs.onClosing(why, connection.ip)
  }

  private refuse(why: CloseReason, ip: string): false {
    this.needs.onClosing(why, ip)
    return false
  }

  /** Closes a stranger's connection of the network: the oldest that is idle, else the oldest.
   *  False: there is none. */
  private makeRoom(network: string | undefined): boolean {
    const strangers = this.strangers_of.get(network ?? '')
    if (!strangers) return false
    let chosen: Socket | undefined
    for (const socket of strangers) {
      chosen ??= socket
      if (this.open.get(socket)!.unanswered > 0) continue
      chosen = socket
      break
    }
    this.close(chosen!, this.open.get(chosen!)!, 'makes_room')
    return true
  }

  private mostStrangers(): string | undefined {
    let most = 0
    let found: string | undefined
    for (const [network, { size }] of this.strangers_of) {
      if (size <= most) continue
      most = size
      found = network
    }
    return found
  }

  private remove(socket: Socket): void {
    const connection = this.open.get(socket)
    if (connection) this.forget(socket, connection)
  }

  private forget(socket: Socket, connection: Connection): void {
    this.open.delete(socket)
    if (connection.shared) return
    const { network } = connection
    const left = this.count_of.get(network)! - 1
    if (left === 0) this.count_of.delete(network)
    else this.count_of.set(network, left)
    if (connection.stranger) this.leaveStrangers(socket, connection)
  }

  private leaveStrangers(socket: Socket, { network }: Connection): void {
    const strangers = this.strangers_of.get(network)
    strangers?.delete(socket)
    if (strangers?.size === 0) this.strangers_of.delete(network)
  }
}
