// Who may ask for what over a socket. The node's interface is for everybody, pages in browsers
// included. The controls (and keys that are given away) move money from nothing: they are for
// anyone who sits at this machine, so they are refused on an address that others reach, and to
// pages of other origins, unless it is asked for. A page can neither forge its Origin nor the Host
// that it names; a Host that is some domain's name is refused, since its owner can point it here.

import { isIP } from 'node:net'
import { printJson } from './state/json.ts'
import type { Answer } from './wallet_api/wallet_api.ts'

export type Access = {
  /** Where the server listens, as it was asked to. */
  readonly host: string
  /** The controls are for everybody who reaches that address. */
  readonly allow_control: boolean
  /** Origins of pages that may use the controls, such as http://localhost:5173. */
  readonly control_origins: readonly string[]
}

type AccessRequest = { readonly method: string; readonly url: string; readonly headers: Headers }
type Headers = { readonly [name: string]: string | string[] | undefined }

const PREFLIGHT_SECONDS = 86_400

/** Whether a path is a control: everything that is not what a node or an event service answers. */
export const isControl = (path: string): boolean =>
  path.startsWith('/devchain/') || path.startsWith('/admin/') || /^\/tre(\?|$)/.test(path)

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))

const one = (header: string | string[] | undefined) => (typeof header === 'string' ? header : '')

/** The name in a Host header, without its port and without the brackets of IPv6. */
function nameOf(host: string): string {
  const name = host.startsWith('[') ? host.slice(1, host.indexOf(']')) : host.replace(/:\d+$/, '')
  return name.toLowerCase()
}

/** Whether a Host can only mean this machine, or the address that the server was told to listen
 *  on. */
function isOwnName(name: string, access: Access): boolean {
  return isIP(name) !== 0 || !name.includes('.') || name === access.host.toLowerCase()
}

const refuse = (error: string): Answer => ({ status: 403, body: printJson({ error }) })

/** Why a request is refused; undefined when it may be answered. */
export function refusalOf(
  access: Access,
  { method, url, headers }: AccessRequest,
): Answer | undefined {
  if (!isControl(url)) return undefined
  if (!access.allow_control && !isLoopback(access.host)) {
    const where = `this chain listens on ${access.host}, which others may reach`
    return refuse(`${where}: its controls are off unless it is started with --allow-control`)
  }
  const [origin, host] = [one(headers.origin), one(headers.host)]
  // A browser always says where a POST comes from, so one that does not say is no page's.
  if ((origin !== '' || method !== 'POST') && !isOwnName(nameOf(host), access)) {
    return refuse(`the controls are not for ${nameOf(host)}: ask by address, or for localhost`)
  }
  const own =
    origin === '' || origin === `http://${host}` || access.control_origins.includes(origin)
  if (own) return undefined
  return refuse(`the controls are not for pages of ${origin}; --control-origin allows an origin`)
}

/** The CORS headers of a path: pages may use the node, the controls only if they are told
 *  to. */
export function corsHeaders(
  access: Access,
  path: string,
  headers: Headers,
): Record<string, string> {
  const origin = one(headers.origin)
  if (!isControl(path)) return { 'access-control-allow-origin': '*' }
  if (!access.control_origins.includes(origin)) return {}
  return { 'access-control-allow-origin': origin, vary: 'Origin' }
}

/** The answer to a browser that asks what it may send. */
export function preflightHeaders(headers: Headers): Record<string, string> {
  const asked = one(headers['access-control-request-headers'])
  return {
    'access-control-allow-methods': 'GET, POST, OPTIONS',
    'access-control-allow-headers': /^[\w, -]{1,1000}$/.test(asked) ? asked : 'content-type',
    'access-control-max-age': String(PREFLIGHT_SECONDS),
  }
}
