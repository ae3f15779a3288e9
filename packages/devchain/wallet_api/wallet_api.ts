// The node's HTTP interface without a socket: a request in, a status and a body out. `/wallet` sees
// the head with all that is pending, `/walletsolidity` the solid state; both are here on one host,
// as hosted nodes have it.
//
// The node answers 200 nearly always and puts its exceptions into the body; so does this.

import { MalformedMessage } from 'penstock-tron/protobuf.ts'
import { NodeException, parseException } from '../http/messages.ts'
import { Arguments, type Node, type Routes } from '../http/routes.ts'
import { int64AsText, type Json, parseJson, printJson } from '../state/json.ts'
import { Refusal } from '../state/refusal.ts'
import { accountRoutes } from './accounts.ts'
import { assetRoutes } from './assets.ts'
import { balanceRoutes } from './balances.ts'
import { blockRoutes } from './blocks.ts'
import { builderRoutes } from './builders.ts'
import { callRoutes } from './calls.ts'
import { networkRoutes } from './network.ts'
import { stakeRoutes } from './stakes.ts'
import { transactionRoutes } from './transactions.ts'

export type Exchange = {
  readonly method: string
  readonly path: string
  readonly body: string
  /** Only forms matter: everything else is read as JSON. */
  readonly content_type?: string
}

/** Status 0 stands for a connection that ends without an answer. */
export type Answer = {
  readonly status: number
  readonly body: string
  /** JSON, when absent. */
  readonly content_type?: string
}

const BODY_MAX_BYTES = 4 * 1024 * 1024

const walletRoutes: Routes = {
  ...blockRoutes,
  ...balanceRoutes,
  ...transactionRoutes,
  ...accountRoutes,
  ...builderRoutes,
  ...stakeRoutes,
  ...assetRoutes,
  ...callRoutes,
  ...networkRoutes,
}

/** The solidity interface: fewer endpoints, all of them reads. */
const solidityNames = [
  'getaccount',
  'getnowblock',
  'getblock',
  'getblockbynum',
  'getblockbyid',
  'getblockbylimitnext',
  'getblockbylatestnum',
  'gettransactionbyid',
  'gettransactioninfobyid',
  'gettransactioninfobyblocknum',
  'gettransactioncountbyblocknum',
  'getdelegatedresourcev2',
  'getdelegatedresourceaccountindexv2',
  'getcandelegatedmaxsize',
  'getavailableunfreezecount',
  'getcanwithdrawunfreezeamount',
  'triggerconstantcontract',
  'estimateenergy',
  'getenergyprices',
  'getbandwidthprices',
  'getmemofee',
  'getnodeinfo',
  'getReward',
  'getBrokerage',
  'listwitnesses',
  'getpaginatednowwitnesslist',
  'getaccountbyid',
  'getburntrx',
  'getdelegatedresource',
  'getdelegatedresourceaccountindex',
  'getassetissuelist',
  'getpaginatedassetissuelist',
  'getassetissuebyname',
  'getassetissuelistbyname',
  'getassetissuebyid',
  'getexchangebyid',
  'listexchanges',
  'getmarketorderbyaccount',
  'getmarketorderbyid',
  'getmarketpricebypair',
  'getmarketorderlistbypair',
  'getmarketpairlist',
]

const RATE_LIMITED =
  'The key exceeds the frequency limit(15), and the query server is suspended for 30s'
const OVERLOADED = 'class java.lang.IllegalAccessException : lack of computing resources'

const noAnswer: Answer = { status: 0, body: '' }
const isBroadcast = (name: string) => name === 'broadcasttransaction' || name === 'broadcasthex'

/** Endpoints that a node has under other paths too. */
const otherPlaces: Readonly<Record<string, string>> = {
  '/net/listnodes': '/wallet/listnodes',
  '/monitor/getnodeinfo': '/wallet/getnodeinfo',
}

/** The page of the node's web server. */
function notFound(path: string): Answer {
  const shown = path.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`)
  const rows = [`<tr><th>URI:</th><td>${shown}</td></tr>`, '<tr><th>STATUS:</th><td>404</td></tr>']
  return {
    status: 404,
    body:
      '<html><head><title>Error 404 Not Found</title></head><body><h2>HTTP ERROR 404 Not ' +
      `Found</h2><table>${rows.join('')}</table></body></html>`,
    content_type: 'text/html;charset=utf-8',
  }
}

/** Answers a request for `/wallet/...`, `/walletsolidity/...` or `/healthcheck`. Anything else is
 *  404. */
export function answerWallet(node: Node, exchange: Exchange): Answer {
  const { method, path, body } = exchange
  const [route_path = '', query = ''] = path.split('?', 2)
  if (route_path === '/healthcheck') return { status: 200, body: printJson({ ok: true }) }
  const [, root, name = '', ...rest] = (otherPlaces[route_path] ?? route_path).split('/')
  const solid = root === 'walletsolidity'
  const route = Object.hasOwn(walletRoutes, name) ? walletRoutes[name] : undefined
  const exists = rest.length === 0 && (root === 'wallet' || (solid && solidityNames.includes(name)))
  if (!route || !exists) return notFound(route_path)
  if (method !== 'GET' && method !== 'POST')
    return { status: 405, body: printJson({ Error: 'Method Not Allowed' }) }
  if (route.post_only && method === 'GET') return { status: 200, body: '' }
  if (Buffer.byteLength(body) > BODY_MAX_BYTES)
    return { status: 413, body: printJson({ Error: 'Payload Too Large' }) }
  const failed = failAtOnce(node)
  if (failed) return failed
  const answer = attempt(() => {
    const given = readArguments(exchange, query)
    const json = route.answer({ ...node, given, solid })
    return method === 'GET' && given.flag('int64_as_string') && !route.int64_as_number
      ? int64AsText(json)
      : json
  })
  return isBroadcast(name) && node.faults.strike('lose_answer') ? noAnswer : answer
}

/** The faults that strike before anything is done. */
function failAtOnce({ faults }: Node): Answer | undefined {
  switch (faults.strike('timeout', 'rate_limit', 'overload')?.kind) {
    case 'timeout':
      return noAnswer
    case 'rate_limit':
      return { status: 429, body: printJson({ Error: RATE_LIMITED }) }
    case 'overload':
      return { status: 200, body: printJson({ Error: OVERLOADED }) }
    default:
      return undefined
  }
}

function attempt(work: () => Json): Answer {
  try {
    return { status: 200, body: printJson(work()) }
  } catch (error) {
    return { status: 200, body: printJson({ Error: describe(error) }) }
  }
}

/** A form is read like a query, unless it is JSON that a client has sent without saying so. */
function readArguments({ method, body, content_type = '' }: Exchange, query: string): Arguments {
  const members = Object.fromEntries(new URLSearchParams(query))
  if (method === 'GET' || body.trim() === '') return new Arguments(members)
  if (
    content_type.startsWith('application/x-www-form-urlencoded') &&
    !body.trimStart().startsWith('{')
  ) {
    return new Arguments({ ...members, ...Object.fromEntries(new URLSearchParams(body)) })
  }
  const parsed = parseJson(body)
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new NodeException('com.alibaba.fastjson.JSONException', 'expect an object')
  }
  return new Arguments({ ...members, ...parsed })
}

function describe(error: unknown): string {
  if (error instanceof NodeException) return `class ${error.java_class} : ${error.message}`
  if (error instanceof Refusal)
    return `class org.tron.core.exception.ContractValidateException : ${error.message}`
  if (error instanceof MalformedMessage) return describe(parseException(`1:1: ${error.message}`))
  if (error instanceof SyntaxError)
    return `class com.alibaba.fastjson.JSONException : ${error.message}`
  throw error
}
