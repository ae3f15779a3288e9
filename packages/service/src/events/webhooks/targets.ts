// Where a webhook may point. Its address is a stranger's choice, and our machine stands where the
// stranger does not: so only public addresses are called, over https, whatever a name says at the
// moment of the call. An operator may allow networks for one customer, and with them plain http.

import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { type FaultKind, fault } from '../../lib/fault.ts'
import { isLoopback } from '../../lib/networks.ts'

export const UrlRefused: FaultKind = fault(75, 'url_refused', 'This URL cannot be called')

export const URL_LENGTH_MAX = 512
/** Below it others listen than receivers of webhooks. */
const PORT_MIN = 1_024

/** What may be called for one customer. */
export type Rules = {
  /** Networks (`10.1.0.0/16`) that an operator has allowed. */
  networks: readonly string[]
  /** Our own public host: it must not be made to call itself. */
  own_host?: string | undefined
}

type Address = ReturnType<typeof ipaddr.parse>

/** The address that is meant: what carries an IPv4 address inside (mapped, 6to4, NAT64, Teredo) is
 *  judged as that one. */
function meant(address: Address): Address {
  if (address.kind() === 'ipv4') return address
  const six = address as ipaddr.IPv6
  const { parts } = six
  const four = (high: number, low: number) =>
    new ipaddr.IPv4([high >> 8, high & 255, low >> 8, low & 255])
  if (six.isIPv4MappedAddress()) return six.toIPv4Address()
  const range = six.range()
  if (range === '6to4') return four(parts[1]!, parts[2]!)
  const is_nat64 = range === 'rfc6052' && parts.slice(2, 6).every((part) => part === 0)
  if (is_nat64 || range === 'rfc6145') return four(parts[6]!, parts[7]!)
  // The client's address is hidden in it with every bit turned.
  if (range === 'teredo') return four(parts[6]! ^ 0xffff, parts[7]! ^ 0xffff)
  // ::a.b.c.d, an old way of writing IPv4.
  if (parts.slice(0, 6).every((part) => part === 0) && parts[6] !== 0) {
    return four(parts[6]!, parts[7]!)
  }
  return six
}

/** Whether the address belongs to one of the networks that were allowed. */
function isAllowed(address: Address, networks: readonly string[]): boolean {
  return networks.some((network) => {
    const [base, bits] = ipaddr.parseCIDR(
      network.includes('/') ? network : `${network}/${full(network)}`,
    )
    return base.kind() === address.kind() && address.match([base, bits] as never)
  })
}

const full = (network: string) => (isIP(network) === 6 ? 128 : 32)

/** Whether an address may be called: a public one over TLS, or one of a network that was
 *  allowed. */
export function mayCall(address: string, networks: readonly string[], secure = true): boolean {
  if (!ipaddr.isValid(address)) return false
  const target = meant(ipaddr.parse(address))
  return (secure && isPublic(target)) || isAllowed(target, networks)
}

/** Whether the network routes it everywhere: of IPv6 that is 2000::/3 without what is set apart. */
function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false
  return address.kind() === 'ipv4' || (address as ipaddr.IPv6).parts[0]! >> 13 === 1
}

/** Addresses that were judged a moment ago: every answer asks. */
const private_addresses = new Map<string, boolean>()
const JUDGED_MAX = 1_000

/** Whether it is reached only because an operator has allowed it. */
export function isPrivate(address: string): boolean {
  const known = private_addresses.get(address)
  if (known !== undefined) return known
  const judged = !mayCall(address, [])
  if (private_addresses.size >= JUDGED_MAX) private_addresses.clear()
  private_addresses.set(address, judged)
  return judged
}

const refusedUrl = (sub: 'scheme' | 'port' | 'address', sentence: string, must: string) =>
  UrlRefused(sub, sentence).at('url', must)

const HTTPS = 'an https URL'
const PUBLIC = 'the URL of a host that is reached from everywhere'

/** The URL as it will be called. Throws UrlRefused, with what is wrong as its sub-key, for one that
 *  is never called whatever its name resolves to. */
export function readTarget(text: string, { networks, own_host }: Rules): URL {
  const url = parsed(text)
  const host = bareHost(url)
  const secure = url.protocol === 'https:'
  if (!secure && !(url.protocol === 'http:' && networks.length > 0))
    throw refusedUrl('scheme', 'Only https is called', HTTPS)
  if (url.username !== '' || url.password !== '')
    throw refusedUrl(
      'scheme',
      'User names and passwords in a URL are not sent',
      'a URL without them',
    )
  if (url.port !== '' && Number(url.port) < PORT_MIN)
    throw refusedUrl(
      'port',
      'That port is not called',
      `a URL with the port of its scheme, or one from ${PORT_MIN} to 65535`,
    )
  if (host === own_host) throw refusedUrl('address', 'That is this service itself', PUBLIC)
  if (isIP(host) !== 0 && !mayCall(host, networks, secure))
    throw refusedUrl('address', 'That address is not public', PUBLIC)
  if (isIP(host) === 0 && !isPublicName(host) && !mayBePrivate(host, networks))
    throw refusedUrl('address', 'That name is not a public one', PUBLIC)
  return url
}

function parsed(text: string): URL {
  const url = text.length <= URL_LENGTH_MAX ? URL.parse(text) : null
  // What the parser would drop or turn is refused: anyone who reads the text sees another URL.
  if (!url || /[\s\\\p{Cc}]/u.test(text) || url.hash !== '' || url.hostname === '')
    throw refusedUrl(
      'scheme',
      'That is no URL that can be called',
      `a URL of at most ${URL_LENGTH_MAX} characters, without blanks and without a fragment`,
    )
  return url
}

/** A host as names are resolved: an address of IPv6 without its brackets, a name without a dot at
 *  its end. */
export const bareHost = ({ hostname }: URL): string =>
  hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')

const SPECIAL_NAMES = /(^|\.)(localhost|local|internal|lan|home|corp|arpa|onion|test|invalid)$/i

/** Whether a name that is no public one may lead into networks that were allowed. The names of this
 *  machine are all that leads to itself. */
const mayBePrivate = (host: string, networks: readonly string[]) =>
  networks.length > 0 &&
  (host.includes('.') ||
    host === 'localhost' ||
    !networks.every((one) => isLoopback(one.split('/')[0]!)))

const isPublicName = (host: string) => host.includes('.') && !SPECIAL_NAMES.test(host)
