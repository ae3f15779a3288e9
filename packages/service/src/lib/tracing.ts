// Spans of the work of a process, by OpenTelemetry's API alone. Without an SDK, which `--import`
// brings, the API does nothing, and callers do not ask for much: what would wrap a request, a step
// or a connection is left out (`isTraced`). A span says names and ids of ours, and nothing that a
// customer, an operator or a node has sent.

import {
  type Context,
  context,
  isSpanContextValid,
  type Link,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type TimeInput,
  trace,
} from '@opentelemetry/api'

/** All that a span may say. */
export type SpanFacts = Partial<{
  /** The pattern of the path, without what stands in its place. */
  'http.route': string
  'http.response.status_code': number
  /** The id of the request, as in the log and in the answer. */
  'penstock.request': string
  'penstock.order': string
  'penstock.attempt': string
  'penstock.subject': string
  'penstock.step': string
  'penstock.pool': string
  'penstock.block': number
}>

const tracer = trace.getTracer('penstock')

/** Whether somebody takes spans: asked once, when a process puts itself together. */
export const isTraced = (): boolean =>
  isSpanContextValid(tracer.startSpan('start of the process').spanContext())

/** Does the work within a span, below the one within which it is called. */
export function traced<Result>(
  name: string,
  facts: SpanFacts,
  work: () => Promise<Result>,
): Promise<Result> {
  return tracer.startActiveSpan(name, { attributes: facts }, (span) => {
    const result = work()
    // What was thrown may hold anything: it is in the log, cleaned.
    result.catch(() => span.setStatus({ code: SpanStatusCode.ERROR }))
    return result.finally(() => span.end())
  })
}

/** A span of something that is over, below the one within which it is called; none where there is
 *  no such. */
export function noteSpan(name: string, began: TimeInput, facts: SpanFacts, failed = false): void {
  if (!trace.getActiveSpan()) return
  const span = tracer.startSpan(name, { attributes: facts, startTime: began })
  if (failed) span.setStatus({ code: SpanStatusCode.ERROR })
  span.end()
}

/** Something that happened within the span in which it is called. */
export const noteEvent = (name: string, facts: SpanFacts): void =>
  void trace.getActiveSpan()?.addEvent(name, facts)

/** Where work is asked for, to be done elsewhere, together with others'. */
export type Place = Context
export const here = (): Place => context.active()

/** Does work for those who asked for it at these places: below the first, and linked to all. */
export function tracedFor<Result>(
  places: readonly Place[],
  work: () => Promise<Result>,
): Promise<Result> {
  const spans = places.map((place) => trace.getSpanContext(place))
  const [first] = spans
  if (!first) return work()
  const links = spans.slice(1).flatMap((one): Link[] => (one ? [{ context: one }] : []))
  return context.with(places[0]!, () =>
    tracer.startActiveSpan('batch', { links }, (span) => work().finally(() => span.end())),
  )
}

/** `version-trace-span-flags`, of the W3C. Another version may have more behind it. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/

function placeOfCaller(traceparent: string | undefined): Place {
  const [, traceId = '', spanId = '', flags = ''] = TRACEPARENT.exec(traceparent ?? '') ?? []
  const remote = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
  return isSpanContextValid(remote) ? trace.setSpanContext(ROOT_CONTEXT, remote) : ROOT_CONTEXT
}

/** A request that is being answered. */
export type RequestSpan = {
  /** Does what follows within the span. */
  within(follow: () => void): void
  end(name: string, facts: SpanFacts, failed: boolean): void
}

/** Below the span of the caller, if he names one. */
export function requestSpan(traceparent: string | undefined, facts: SpanFacts): RequestSpan {
  const caller = placeOfCaller(traceparent)
  const span = tracer.startSpan('request', { kind: SpanKind.SERVER, attributes: facts }, caller)
  return {
    within: (follow) => context.with(trace.setSpan(caller, span), follow),
    end(name, facts, failed) {
      span.updateName(name).setAttributes(facts)
      if (failed) span.setStatus({ code: SpanStatusCode.ERROR })
      span.end()
    },
  }
}
