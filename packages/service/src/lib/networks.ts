// Addresses of callers and of hosts, and the networks that they are in.

import { BlockList, isIP } from 'node:net'

/** The address without a second way of writing it: IPv4 on an IPv6 socket (`::ffff:…`) is IPv4. */
export function plainAddress(ip: string): string {
  return ip.startsWith('::ffff:') && ip.includes('.') ? ip.slice(7) : ip
}

/** Who counts as one caller: an IPv4 address, or the /64 of an IPv6 address, since nobody is given
 *  less than that and its owner may call from each of its 2^64 addresses. */
export function networkOf(ip: string): string {
  const address = plainAddress(ip)
  if (!address.includes(':') || isIP(address) !== 6) return address
  const [head = '', tail] = address.split('%', 1)[0]!.split('::')
  const groups = (text: string | undefined) => (text ? text.split(':') : [])
  const [left, right] = [groups(head), groups(tail)]
  // The last 32 bits may be written as IPv4.
  const written = left.length + right.length + (address.includes('.') ? 1 : 0)
  const zeros = tail === undefined ? [] : Array<string>(Math.max(0, 8 - written)).fill('0')
  const first = [...left, ...zeros, ...right].slice(0, 4)
  return `${first.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`
}

/** What one provider may easily give somebody to call from: the /16 of an IPv4 address, the /48 of
 *  an IPv6 address. */
export function wideNetworkOf(ip: string): string {
  const network = networkOf(ip)
  if (!network.includes(':')) return `${network.split('.').slice(0, 2).join('.')}.0.0/16`
  return `${network.split(':').slice(0, 3).join(':')}::/48`
}

/** Whether the text is an address (`203.0.113.7`) or a network (`203.0.113.0/24`). */
export function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  const bits_max = isIP(address) === 4 ? 32 : 128
  const fits = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= bits_max)
  return isIP(address) !== 0 && fits && rest.length === 0
}

/** The addresses and networks as a list that can be asked; each must be one. */
export function networkList(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    const version = isIP(address) === 4 ? 'ipv4' : 'ipv6'
    list.addSubnet(address, Number(bits ?? (version === 'ipv4' ? 32 : 128)), version)
  }
  return list
}

/** Whether the list has the address. */
export function isListed(list: BlockList, ip: string): boolean {
  const address = plainAddress(ip)
  const version = isIP(address)
  return version !== 0 && list.check(address, version === 4 ? 'ipv4' : 'ipv6')
}

/** Whether every address of a network is one of another; both must be networks or addresses. */
export function isWithin(network: string, other: string): boolean {
  const [address = '', bits] = network.split('/')
  const [other_address = '', other_bits] = other.split('/')
  const version = isIP(address)
  if (version !== isIP(other_address)) return false
  const whole = version === 4 ? 32 : 128
  // Of two networks of one version, one lies in the other or they have nothing in common.
  const is_smaller = Number(bits ?? whole) >= Number(other_bits ?? whole)
  return is_smaller && networkList([other]).check(address, version === 4 ? 'ipv4' : 'ipv6')
}

/** Whether a host is this machine: by its name, or an address that never leaves it. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, '$1').toLowerCase()
  if (isIP(name) === 4) return name.startsWith('127.')
  return name === 'localhost' || name.endsWith('.localhost') || name === '::1'
}
