// Who sends a request, as far as its headers and its connection say. Worked out once for each
// request.

import { hash } from 'node:crypto'
import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { networkOf, plainAddress } from '../../lib/networks.ts'

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | undefined
  }
}

export type Caller = {
  /** The address; behind a trusted proxy the one that it names. */
  readonly ip: string
  /** What counts as one caller: the address, or the /64 of it. */
  readonly network: string
  readonly token: string | undefined
  /** What stands for the token in memory. */
  readonly token_hash: string | undefined
  /** Whether the request has been counted for its network. */
  counted: boolean
}

export function callerOf(request: FastifyRequest): Caller {
  request.caller ??= readCaller(request)
  return request.caller
}

function readCaller(request: FastifyRequest): Caller {
  // What a proxy names need not be an address; anyone who is connected has one.
  const connected = request.socket?.remoteAddress ?? ''
  const named = request.ip ?? ''
  const ip = plainAddress(named === connected || isIP(named) === 0 ? connected : named)
  const token = /^bearer +(\S+)$/i.exec(once(request, 'authorization') ?? '')?.[1]
  const token_hash = token === undefined ? undefined : hash('sha256', token)
  return { ip, network: networkOf(ip), token, token_hash, counted: false }
}

/** The value of a header; undefined when it is not there, or there more than once: nobody knows
 *  which one is meant. */
export function once(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name]
  return typeof value === 'string' && times(request, name) === 1 ? value : undefined
}

/** How often a header was sent. Node keeps the first of some names, and joins those of others. */
export function times(request: FastifyRequest, name: string): number {
  const { rawHeaders } = request.raw
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]!.length === name.length && rawHeaders[i]!.toLowerCase() === name) count += 1
  return count
}

/** Which signatures the request carries, right or wrong. */
export function signatureShown(request: FastifyRequest): 'v1' | 'v2' | 'none' {
  if (request.headers['x-signature-v2'] !== undefined) return 'v2'
  return request.headers['x-signature'] === undefined ? 'none' : 'v1'
}
