// What is refused before a body is read: encodings, and callers that come too often. A token that
// is known has an allowance of its own, which only requests with a right signature use up.
// Everything else uses up that of the network it comes from: made-up tokens, wrong signatures, and
// what needs no token. So junk takes nothing from a customer, wherever it comes from and whatever
// token it shows.

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../lib/clock.ts'
import { callerOf } from '../limits/caller.ts'
import {
  type Allowance,
  type RateLimit,
  type RateLimiter,
  rateLimiter,
} from '../limits/rate_limit.ts'
import { type Answer, transportRefusal } from '../wire/replies.ts'

/** The tokens of customers, by their hexadecimal SHA-256. One that is not among them may still be
 *  right. */
export type KnownTokens = { has(token_hash: string): boolean; add(token_hash: string): void }

/** What a request counts for. */
export type Counter = 'token' | 'address' | 'health'

export type Gate = {
  /** The refusal of a request whose body is not read yet. */
  refusal(request: FastifyRequest, reply: FastifyReply, by: Counter): Answer | undefined
  /** Counts a request with a right signature. */
  admitted(request: FastifyRequest, reply: FastifyReply): void
  /** Counts a request with a wrong one. Answers it when there are too many of them. */
  failed(request: FastifyRequest, reply: FastifyReply): Answer | undefined
  /** Whether its network may still have a key read for every request that shows its token. */
  mayReadAgain(request: FastifyRequest): boolean
}

/** The gate; without a limit it counts nothing. */
export function makeGate(clock: Clock, limit: RateLimit | undefined, known: KnownTokens): Gate {
  const counting = limit && countingGate(clock, limit, known)
  return {
    refusal(request, reply, by) {
      const encoding = request.headers['content-encoding']
      if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
        return counting?.failed(request, reply) ?? transportRefusal(request.id, 415)
      // Fastify reads no body with a content type it cannot parse; without one it takes any.
      request.raw.headers['content-type'] = undefined
      return counting?.refusal(request, reply, by)
    },
    admitted: (request, reply) => counting?.admitted(request, reply),
    failed: (request, reply) => counting?.failed(request, reply),
    mayReadAgain: (request) => counting?.mayReadAgain(request) ?? true,
  }
}

function countingGate(clock: Clock, limit: RateLimit, known: KnownTokens): Gate {
  const networks = rateLimiter(limit, clock)
  // Anyone who asks after our health is not kept from it by strangers who share its address.
  const health = rateLimiter(limit, clock)
  // There are no more of them than keys, so none is ever forgotten.
  const tokens = rateLimiter(limit, clock, Number.POSITIVE_INFINITY)

  function tell(
    request: FastifyRequest,
    reply: FastifyReply,
    allowance: Allowance,
  ): Answer | undefined {
    const { allowed, remaining, retry_after_seconds, full_after_seconds } = allowance
    reply.header('ratelimit-limit', limit.burst)
    reply.header('ratelimit-remaining', remaining)
    reply.header('ratelimit-reset', full_after_seconds)
    return allowed ? undefined : tooMany(request.id, retry_after_seconds)
  }

  /** Counts a request for its network. One too many is the last of a stranger's connection: what
   *  was sent behind it costs nothing more, and a flood has to connect again for each refusal. */
  function count(
    request: FastifyRequest,
    reply: FastifyReply,
    limiter: RateLimiter,
  ): Answer | undefined {
    const caller = callerOf(request)
    caller.counted = true
    const answer = tell(request, reply, limiter.take(caller.network))
    return answer && { ...answer, last: true }
  }

  return {
    refusal(request, reply, by) {
      const { token_hash } = callerOf(request)
      if (by === 'token' && token_hash !== undefined && known.has(token_hash)) {
        const own = tokens.look(token_hash)
        // What is left is told when it is known whether this request counts.
        return own.allowed ? undefined : tell(request, reply, own)
      }
      return count(request, reply, by === 'health' ? health : networks)
    },
    admitted(request, reply) {
      const token_hash = callerOf(request).token_hash!
      if (!known.has(token_hash)) known.add(token_hash)
      tell(request, reply, tokens.charge(token_hash))
    },
    failed(request, reply) {
      return callerOf(request).counted ? undefined : count(request, reply, networks)
    },
    mayReadAgain: (request) => networks.look(callerOf(request).network).allowed,
  }
}

/** Refuses what comes too often, or too much at once. */
export function tooMany(request_id: string, retry_after_seconds: number): Answer {
  return transportRefusal(request_id, 429, {
    'retry-after': String(Math.max(1, retry_after_seconds)),
  })
}
