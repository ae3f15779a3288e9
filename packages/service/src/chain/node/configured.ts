// The TRON nodes that are configured: on the command line, or in a file for those whose addresses
// or keys are secrets. A key goes to the operator it is for and to nobody else, and what is asked
// over a network is asked over TLS.

import { readFileSync, statSync } from 'node:fs'
import { Misuse } from '../../lib/fault.ts'
import { isLoopback } from '../../lib/networks.ts'

export type NodeConfig = {
  url: string
  /** The solidity side, where that has an address of its own. */
  solid_url?: string
  headers?: Record<string, string>
}

type NodeOptions = {
  node_urls: readonly string[]
  solid_urls: readonly string[]
  /** What the options begin with: `--read-node-url`. */
  prefix?: string
  /** For the first node and others on its host. */
  key?: string | undefined
  /** Instead, for each node in their order, with commas. */
  keys?: string | undefined
  /** A file with nodes, when none is named. */
  file?: string | undefined
}

const withKey = (key: string | undefined) => (key ? { headers: { 'TRON-PRO-API-KEY': key } } : {})

/** The nodes of the command line, with their keys; else those of the file. Throws Misuse. */
export function nodesOf({
  node_urls,
  solid_urls,
  prefix = '',
  key,
  keys,
  file,
}: NodeOptions): NodeConfig[] {
  if (solid_urls.length > 0 && solid_urls.length !== node_urls.length) {
    throw new Misuse(
      `--${prefix}solid-node-url is given once for each --${prefix}node-url, or not at all.`,
    )
  }
  for (const url of [...node_urls, ...solid_urls]) requireUrl(url, url)
  const each = keysOf(node_urls, key, keys)
  const named = node_urls.map((url, i) => {
    const solid_url = solid_urls[i]
    return { url, ...(solid_url !== undefined && { solid_url }), ...withKey(each[i]) }
  })
  return named.length === 0 && file ? nodesIn(file) : named
}

function keysOf(
  urls: readonly string[],
  key: string | undefined,
  keys: string | undefined,
): (string | undefined)[] {
  if (key && keys)
    throw new Misuse('PENSTOCK_NODE_API_KEY and PENSTOCK_NODE_API_KEYS are both set: set one.')
  if (!keys || urls.length === 0) {
    return urls.map((url) => (new URL(url).host === new URL(urls[0]!).host ? key : undefined))
  }
  const list = keys.split(',').map((one) => one.trim())
  if (list.length !== urls.length)
    throw new Misuse(
      'PENSTOCK_NODE_API_KEYS has one key for each --node-url, in their order; ' +
        'between commas may be none.',
    )
  return list
}

function requireUrl(text: unknown, shown: string): asserts text is string {
  if (typeof text !== 'string' || !URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new Misuse(`${shown} is not the http:// or https:// address of a node.`)
  const { username, password, search, hash, host } = new URL(text)
  if (username || password || search || hash)
    throw new Misuse(
      `The address of node ${host} has a user name, a password, or something after ? or #: ` +
        'it is a host and a path, and a key goes into PENSTOCK_NODE_API_KEY.',
    )
}

/** Reads the file. What is wrong is told by place: an address may have a key in it. */
function nodesIn(file: string): NodeConfig[] {
  const bad = (what: string) => new Misuse(`PENSTOCK_NODES ${file}: ${what}.`)
  let value: unknown
  try {
    if ((statSync(file).mode & 0o077) !== 0)
      throw bad('it holds keys and can be read by others: chmod 600 it')
    value = JSON.parse(readFileSync(file, 'utf8'))
  } catch (thrown) {
    if (thrown instanceof Misuse) throw thrown
    throw bad(thrown instanceof SyntaxError ? 'it is not JSON' : 'it cannot be read')
  }
  if (!Array.isArray(value) || value.length === 0) throw bad('it is not a list of nodes')
  return value.map((one: unknown, i) => {
    const { url, solid_url, api_key, ...rest } = (one ?? {}) as Record<string, unknown>
    const [unknown] = Object.keys(rest)
    if (unknown !== undefined)
      throw bad(`node ${i + 1} has ${unknown}; a node has url, solid_url and api_key`)
    requireUrl(url, `PENSTOCK_NODES ${file}: url of node ${i + 1}`)
    if (solid_url !== undefined)
      requireUrl(solid_url, `PENSTOCK_NODES ${file}: solid_url of node ${i + 1}`)
    if (api_key !== undefined && typeof api_key !== 'string')
      throw bad(`api_key of node ${i + 1} is not a text`)
    return { url, ...(solid_url !== undefined && { solid_url }), ...withKey(api_key) }
  })
}

/** The hosts of the nodes that are asked in the clear and are not on this machine. */
export function nodesInTheClear(nodes: readonly NodeConfig[]): string[] {
  const sides = nodes.flatMap(({ url, solid_url }) =>
    solid_url === undefined ? [url] : [url, solid_url],
  )
  const clear = sides
    .map((side) => new URL(side))
    .filter(({ protocol, hostname }) => protocol === 'http:' && !isLoopback(hostname))
  return [...new Set(clear.map(({ host }) => host))]
}
