// Names into addresses. The only file that asks for any.
//
// There are two kinds. Our own names are those that who runs the service has named: nodes,
// providers, the database. Drivers and libraries look them up by themselves, all through
// `dns.lookup`, so it is replaced there: an address that was good is used again when a look-up
// fails or takes long, and a name is looked up once at a time. The others are strangers', those of
// webhooks: for these the name servers are asked without the system's help, because a look-up of
// the system holds one of few threads of the process until it is over, and cannot be taken back.

import dns, { type LookupAddress, type LookupAllOptions, type LookupOptions } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'

/** All addresses of a name. Throws an error with a code: ENOTFOUND, or why nobody knows. */
export type Look = (name: string) => Promise<LookupAddress[]>

/** So long one server is waited for, and asked once more. */
const SERVER_MS = 1_200
const TRIES = 2
const LOOK_MS_MAX = 3_000
/** The addresses of the other family are waited for no longer than this. */
const OTHER_FAMILY_MS = 250
/** A name with more has these. */
const ADDRESSES_MAX = 32
const HOSTS_FILE = '/etc/hosts'
const HOSTS_MS = 10_000

/** Asks name servers, those of the system when none are named, after looking at /etc/hosts. It ends
 *  within three seconds, and costs no thread. */
export function nameServers(servers?: readonly string[]): Look {
  const hosts = hostsFile()
  return async (name) => {
    const listed = isLocalhost(name) ? LOOPBACK : (await hosts()).get(name.toLowerCase())
    return listed ? [...listed] : askServers(name, servers)
  }
}

const LOOPBACK: readonly LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

const isLocalhost = (name: string) => /^(.*\.)?localhost\.?$/i.test(name)

async function askServers(
  name: string,
  servers: readonly string[] | undefined,
): Promise<LookupAddress[]> {
  const resolver = new Resolver({ timeout: SERVER_MS, tries: TRIES })
  if (servers) resolver.setServers(servers)
  let timer = setTimeout(() => resolver.cancel(), LOOK_MS_MAX)
  const of = async (family: 4 | 6): Promise<LookupAddress[]> => {
    const found = family === 4 ? await resolver.resolve4(name) : await resolver.resolve6(name)
    clearTimeout(timer)
    timer = setTimeout(() => resolver.cancel(), OTHER_FAMILY_MS)
    return found.map((address) => ({ address, family }))
  }
  try {
    const answers = await Promise.allSettled([of(4), of(6)])
    const found = answers.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
    if (found.length > 0) return found.slice(0, ADDRESSES_MAX)
    const reasons = answers.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
    throw notFound(name, reasons.every(isNoSuch) ? 'ENOTFOUND' : 'EAI_AGAIN')
  } finally {
    clearTimeout(timer)
  }
}

const isNoSuch = ({ code }: NodeJS.ErrnoException) => code === 'ENOTFOUND' || code === 'ENODATA'

/** As the system says it, which is what drivers know. */
const notFound = (hostname: string, code: 'ENOTFOUND' | 'EAI_AGAIN'): NodeJS.ErrnoException =>
  Object.assign(new Error(`getaddrinfo ${code} ${hostname}`), {
    code,
    hostname,
    syscall: 'getaddrinfo',
  })

/** What the file of this machine says, read again every ten seconds. */
function hostsFile(): () => Promise<ReadonlyMap<string, LookupAddress[]>> {
  let read_ms = Number.NEGATIVE_INFINITY
  let reading: Promise<ReadonlyMap<string, LookupAddress[]>> | undefined
  return () => {
    if (!reading || performance.now() - read_ms > HOSTS_MS) {
      read_ms = performance.now()
      reading = readFile(HOSTS_FILE, 'utf8').then(readHosts, () => new Map())
    }
    return reading
  }
}

/** Lines of an address and its names. */
export function readHosts(text: string): Map<string, LookupAddress[]> {
  const found = new Map<string, LookupAddress[]>()
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    const family = isIP(address)
    if (family === 0) continue
    for (const name of names) {
      const known = found.get(name.toLowerCase()) ?? []
      found.set(name.toLowerCase(), [...known, { address, family }])
    }
  }
  return found
}

/** Name servers as a setting has them: addresses, with or without a port. Undefined: they are
 *  none. */
export function readNameServers(text: string): string[] | undefined {
  const servers = text.split(',').map((one) => one.trim())
  try {
    new Resolver().setServers(servers)
    return servers
  } catch {
    return undefined
  }
}

/** How long a look-up may take before the last good addresses are used. */
const PATIENCE_MS = 500
/** Addresses that were good so lately are used at once, and looked up again meanwhile: a purchase
 *  that needs a new connection waits for no name server. */
const FRESH_MS = 30_000
/** Own names are few; those that a list is published under may change. */
const KNOWN_MAX = 1_000

/** Looks names up once at a time each, and remembers their last good addresses. */
export function lastGood(look: Look, patience_ms = PATIENCE_MS, fresh_ms = FRESH_MS): Look {
  const good = new Map<string, { addresses: LookupAddress[]; found_ms: number }>()
  const under_way = new Map<string, Promise<LookupAddress[]>>()
  /** Names whose last look-up failed, or takes long: nobody waits for the next one. */
  const doubted = new Set<string>()
  const ask = (name: string): Promise<LookupAddress[]> => {
    const asked = look(name).then((addresses) => {
      good.delete(name)
      if (good.size >= KNOWN_MAX) good.delete(good.keys().next().value!)
      good.set(name, { addresses, found_ms: performance.now() })
      doubted.delete(name)
      return addresses
    })
    under_way.set(name, asked)
    const over = () => void under_way.delete(name)
    asked.then(over, over)
    return asked
  }
  return async (name) => {
    const asked = under_way.get(name) ?? ask(name)
    const known = good.get(name)
    if (!known) return asked
    const { addresses: last, found_ms } = known
    asked.catch(() => doubted.add(name))
    if (doubted.has(name) || performance.now() - found_ms < fresh_ms) return last
    let timer: NodeJS.Timeout | undefined
    const patience = new Promise<LookupAddress[]>((resolve) => {
      timer = setTimeout(() => {
        doubted.add(name)
        resolve(last)
      }, patience_ms)
    })
    return Promise.race([asked.catch(() => last), patience]).finally(() => clearTimeout(timer))
  }
}

type LookupCallback = (
  failed: Error | null,
  address: string | LookupAddress[],
  family?: number,
) => void

/** From now on every name that this process looks up for itself, in whatever library, is looked up
 *  with patience. `servers`: these are asked instead of the system. Returns what takes it back. */
export function useOwnNames(servers?: readonly string[], patience_ms?: number): () => void {
  const system = dns.lookup
  const bySystem: Look = (name) =>
    new Promise((resolve, reject) => {
      const all: LookupAllOptions = { all: true }
      system(name, all, (failed, addresses) => (failed ? reject(failed) : resolve(addresses)))
    })
  const look = lastGood(servers ? nameServers(servers) : bySystem, patience_ms)
  const lookup = (
    name: string,
    options: LookupOptions | number | LookupCallback,
    done?: LookupCallback,
  ): void => {
    const tell = (typeof options === 'function' ? options : done)!
    const { family, all = false } = optionsOf(options)
    const answer = (addresses: LookupAddress[]) => {
      const fitting = addresses.filter((one) => !family || one.family === family)
      const [first] = fitting
      if (!first) tell(notFound(name, 'ENOTFOUND'), '')
      else if (all) tell(null, fitting)
      else tell(null, first.address, first.family)
    }
    if (isIP(name) !== 0) system(name, optionsOf(options), tell)
    else look(name).then(answer, (failed: Error) => tell(failed, ''))
  }
  Object.assign(dns, { lookup: Object.assign(lookup, system) })
  return () => void Object.assign(dns, { lookup: system })
}

function optionsOf(
  options: LookupOptions | number | LookupCallback,
): LookupOptions & { family?: number } {
  if (typeof options === 'function') return {}
  if (typeof options === 'number') return { family: options }
  const { family, ...rest } = options
  if (family === undefined) return rest
  return { ...rest, family: family === 'IPv4' ? 4 : family === 'IPv6' ? 6 : family }
}
