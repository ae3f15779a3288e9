// The lines about requests. Each request of a customer leaves one; of those that were turned away
// one network leaves only so many, because anyone who may write to our disk as fast as he can send
// may fill it. The next line says how many were left out before it. No line has a body, a token, a
// signature, or what follows the question mark of a path.

import type { FastifyRequest } from 'fastify'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import { networkOf } from '../../lib/networks.ts'
import { callerOf, signatureShown } from '../limits/caller.ts'
import { type RateLimit, rateLimiter } from '../limits/rate_limit.ts'
import type { Asker } from './calls.ts'

const LINES_OF_STRANGERS: RateLimit = { per_second: 10, burst: 200 }
const PATH_LENGTH_MAX = 200
const CODE_AUTH = 1

type Fields = NonNullable<Parameters<Log>[1]>
type Outcome = { status: number; code: number; ms: number }

export type RequestLog = {
  /** A request that was answered. */
  answered(request: FastifyRequest, told: Outcome, asker: Asker): void
  /** What happened to a connection, or to bytes on it that are no request. */
  connection(event: string, ip: string, fields: Fields): void
}

export function requestLog({ log, clock }: { log: Log; clock: Clock }): RequestLog {
  const lines = rateLimiter(LINES_OF_STRANGERS, clock)
  let left_out = 0

  /** The line of a stranger, unless his network has had too many. */
  function logStranger(network: string, event: string, fields: Fields): void {
    if (!lines.take(network).allowed) {
      left_out += 1
      return
    }
    log(event, left_out === 0 ? fields : { ...fields, lines_left_out: left_out })
    left_out = 0
  }

  return {
    answered(request, { status, code, ms }, { customer_id, key_id, auth }) {
      const { ip, network } = callerOf(request)
      const path = pathOf(request)
      const { id: request_id } = request
      const signature = signatureShown(request)
      const fields = {
        path,
        status,
        code,
        ms,
        request_id,
        ip,
        signature,
        auth,
        key_id,
        customer_id,
      }
      const turned_away = customer_id === undefined && (status >= 400 || code === CODE_AUTH)
      if (turned_away) logStranger(network, 'request', fields)
      else log('request', fields)
    },
    connection: (event, ip, fields) => logStranger(networkOf(ip), event, { ip, ...fields }),
  }
}

/** The path without its query, and without what could be taken for another line or another
 *  field. */
function pathOf({ url }: FastifyRequest): string {
  const path = url.split('?', 1)[0]!.slice(0, PATH_LENGTH_MAX)
  return /^[!-~]*$/.test(path) ? path : path.replace(/[^!-~]/g, '?')
}
