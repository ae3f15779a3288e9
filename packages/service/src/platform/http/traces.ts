// A span for each request, from its headers to its answer.

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type RequestSpan, requestSpan } from '../../lib/tracing.ts'

export function traceRequests(app: FastifyInstance): void {
  const spans = new WeakMap<FastifyRequest, RequestSpan>()
  app.addHook('onRequest', (request, _reply, done) => {
    const { traceparent } = request.headers
    const span = requestSpan(typeof traceparent === 'string' ? traceparent : undefined, {
      'penstock.request': request.id,
    })
    spans.set(request, span)
    span.within(done)
  })
  app.addHook('onResponse', (request, reply, done) => {
    const { method, routeOptions } = request
    // A path of no endpoint may hold anything.
    const route = routeOptions.url ?? 'unknown'
    const facts = { 'http.route': route, 'http.response.status_code': reply.statusCode }
    spans.get(request)?.end(`${method} ${route}`, facts, reply.statusCode >= 500)
    done()
  })
}
