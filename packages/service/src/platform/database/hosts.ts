// The servers that an address names, in libpq's form: `postgres://user:password@h1:5432,h2/name`.
// One of them takes writes; which one it is changes when a standby is promoted. A server says while
// it connects that it is a standby, and is left for the next one; the one that worked last is
// asked first.

import type { EventEmitter } from 'node:events'
import type { Duplex } from 'node:stream'
import pg from 'pg'
import { Misuse } from '../../lib/fault.ts'

/** A host that does not answer is left after this, where there is another one. */
const HOST_MS_MAX = 2_000

/** What a server says of itself, since version 14 without being asked, when it takes no writes. */
const READ_ONLY = new Set(['in_hot_standby', 'default_transaction_read_only'])

/** Why a connection was not made, where another host may do better. */
const failures_of_host = new WeakSet<Error>()

const known = new Map<string, Hosts>()

export class Hosts {
  /** The address of each host alone. */
  readonly urls: readonly string[]
  private first = 0

  /** The same ones for the same address, in the whole process: what one has found out about them
   *  saves the others to wait for it. Throws Misuse when the address is none. */
  static of(url: string): Hosts {
    const hosts = known.get(url) ?? new Hosts(url)
    known.set(url, hosts)
    return hosts
  }

  private constructor(url: string) {
    this.urls = hostUrls(url)
  }

  /** The address of the host that is to be asked next. */
  get next(): string {
    return this.urls[this.first]!
  }

  /** It is not the one: the next is asked from now on, unless somebody has gone on already. */
  leave(url: string): void {
    if (url === this.next) this.first = (this.first + 1) % this.urls.length
  }

  /** Makes a connection to the first host that takes writes. Throws what the last one said; at once
   *  what any of them would say, such as that a password is wrong. */
  async reach<Client>(connect: () => Promise<Client>): Promise<Client> {
    for (let tried = 1; ; tried++) {
      try {
        return await connect()
      } catch (thrown) {
        const elsewhere = thrown instanceof Error && failures_of_host.has(thrown)
        if (!elsewhere || tried >= this.urls.length) throw thrown
      }
    }
  }
}

/** The addresses of the hosts, one each. Throws Misuse. */
export function hostUrls(url: string): string[] {
  const parts = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)([^?#]*)\??(.*)$/s.exec(url)
  if (!parts) throw new Misuse('DATABASE_URL does not begin with postgres://.')
  const [, before = '', hosts = '', path = '', query = ''] = parts
  const parameters = query.split('&').filter((one) => one !== '')
  const attributes = parameters.filter((one) => one.startsWith(ATTRIBUTES))
  if (attributes.some((one) => !WRITABLE.has(one.slice(ATTRIBUTES.length))))
    throw new Misuse('DATABASE_URL: of target_session_attrs only read-write makes sense here.')
  const rest = parameters.filter((one) => !one.startsWith(ATTRIBUTES))
  const after = `${path}${rest.length > 0 ? `?${rest.join('&')}` : ''}`
  const names = hosts.split(',')
  if (names.length > 1 && names.includes('')) throw new Misuse('DATABASE_URL has an empty host.')
  return names.map((name) => `${before}${name}${after}`)
}

const ATTRIBUTES = 'target_session_attrs='
const WRITABLE = new Set(['read-write', 'primary'])

/** What the driver's types leave out. */
type Inside = { connection: EventEmitter & { stream: Duplex } }
const insideOf = (client: pg.ClientBase) => (client as unknown as Inside).connection

/** What the connection reads from, for those who must not be sent more than they can take. */
export const socketOf = (client: pg.ClientBase): Duplex => insideOf(client).stream

/** Ends the connection at once: what waits for an answer on it fails. */
export const cutOff = (client: pg.ClientBase): void => void socketOf(client).destroy()

type ConnectCallback = ((thrown: Error) => void) | ((thrown: null, client: pg.Client) => void)

/** The driver's client, of the host whose turn it is. */
export function clientOf(hosts: Hosts) {
  return class HostClient extends pg.Client {
    private readonly url: string
    private read_only = false

    constructor(config: pg.ClientConfig = {}) {
      const several = hosts.urls.length > 1 && { connectionTimeoutMillis: HOST_MS_MAX }
      const connectionString = hosts.next
      super({ ...config, connectionString, ...several })
      this.url = connectionString
      const heard = (said: { parameterName: string; parameterValue: string }) => {
        if (READ_ONLY.has(said.parameterName) && said.parameterValue === 'on') this.read_only = true
      }
      insideOf(this).on('parameterStatus', heard)
      // Who asks on it hears of its end by the answer. Without a listener the end of a connection
      // that nobody has in hand yet, or any more, would end the process.
      this.on('error', () => {})
    }

    override connect(): Promise<pg.Client>
    override connect(callback: ConnectCallback): void
    override connect(callback?: ConnectCallback): Promise<pg.Client> | undefined {
      const connected = super.connect().then(
        (client) => {
          if (!this.read_only) return client
          this.end().catch(() => {})
          throw this.left(new Error('the server is a standby, or takes no writes'))
        },
        (thrown: Error) => {
          throw isOfHost(thrown) ? this.left(thrown) : thrown
        },
      )
      if (!callback) return connected
      const tell = callback as (thrown: Error | null, client?: pg.Client) => void
      connected.then((client) => tell(null, client), tell)
      return undefined
    }

    private left(why: Error): Error {
      hosts.leave(this.url)
      failures_of_host.add(why)
      return why
    }
  }
}

/** Whether another host may answer otherwise: not what is wrong with a name or a password. */
const isOfHost = (thrown: Error) =>
  !(thrown instanceof pg.DatabaseError && /^(28|3D)/.test(thrown.code ?? ''))

/** A connection of its own, not of a pool, to the host that takes writes. Losing it is no event of
 *  the process. */
export function openClient(hosts: Hosts, config: pg.ClientConfig): Promise<pg.Client> {
  const Client = clientOf(hosts)
  return hosts.reach(async () => {
    const client = new Client(config)
    await client.connect()
    return client
  })
}
