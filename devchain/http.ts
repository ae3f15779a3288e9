// The node's HTTP interface without a socket: a request in, a status and a body out. `/wallet` sees the head with all
// that is pending, `/walletsolidity` the solid state; both are here on one host, as hosted nodes have it.
//
// The node answers 200 nearly always and puts its exceptions into the body; so does this.

import { accountRoutes } from './http_accounts.ts'
import { blockRoutes } from './http_blocks.ts'
import { builderRoutes } from './http_builders.ts'
import { callRoutes } from './http_calls.ts'
import { networkRoutes } from './http_network.ts'
import { stakeRoutes } from './http_stakes.ts'
import { transactionRoutes } from './http_transactions.ts'
import { type Json, parseJson, printJson } from './json.ts'
import { NodeException } from './messages.ts'
import { Refusal } from './refusal.ts'
import { Arguments, type Node, type Routes } from './routes.ts'

export type Exchange = { readonly method: string; readonly path: string; readonly body: string }

/** Status 0 stands for a connection that ends without an answer. */
export type Answer = { readonly status: number; readonly body: string }

const BODY_MAX_BYTES = 4 * 1024 * 1024

const walletRoutes: Routes = {
  ...blockRoutes,
  ...transactionRoutes,
  ...accountRoutes,
  ...builderRoutes,
  ...stakeRoutes,
  ...callRoutes,
  ...networkRoutes,
}

/** What the solidity interface has: fewer endpoints, all of them reads. */
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
]

const RATE_LIMITED = 'The key exceeds the frequency limit(15), and the query server is suspended for 30s'
const OVERLOADED = 'class java.lang.IllegalAccessException : lack of computing resources'

const noAnswer: Answer = { status: 0, body: '' }
const isBroadcast = (name: string) => name === 'broadcasttransaction' || name === 'broadcasthex'

/** Answers a request for `/wallet/...`, `/walletsolidity/...` or `/healthcheck`. Anything else is 404. */
export function answerWallet(node: Node, { method, path, body }: Exchange): Answer {
  const [route_path = '', query = ''] = path.split('?', 2)
  if (route_path === '/healthcheck') return { status: 200, body: printJson({ ok: true }) }
  const [, root, name = '', ...rest] = route_path.split('/')
  const solid = root === 'walletsolidity'
  const route = Object.hasOwn(walletRoutes, name) ? walletRoutes[name] : undefined
  const exists = rest.length === 0 && (root === 'wallet' || (solid && solidityNames.includes(name)))
  if (!route || !exists) return { status: 404, body: printJson({ Error: 'Not Found' }) }
  if (method !== 'GET' && method !== 'POST') return { status: 405, body: printJson({ Error: 'Method Not Allowed' }) }
  if (route.post_only && method === 'GET') return { status: 200, body: '' }
  if (Buffer.byteLength(body) > BODY_MAX_BYTES) return { status: 413, body: printJson({ Error: 'Payload Too Large' }) }
  const failed = failAtOnce(node)
  if (failed) return failed
  const answer = attempt(() => route.answer({ ...node, given: readArguments(method, query, body), solid }))
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

function readArguments(method: string, query: string, body: string): Arguments {
  const members = Object.fromEntries(new URLSearchParams(query))
  if (method === 'GET' || body.trim() === '') return new Arguments(members)
  const parsed = parseJson(body)
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new NodeException('com.alibaba.fastjson.JSONException', 'expect an object')
  }
  return new Arguments({ ...members, ...parsed })
}

function describe(error: unknown): string {
  if (error instanceof NodeException) return `class ${error.java_class} : ${error.message}`
  if (error instanceof Refusal) return `class org.tron.core.exception.ContractValidateException : ${error.message}`
  if (error instanceof SyntaxError) return `class com.alibaba.fastjson.JSONException : ${error.message}`
  throw error
}
