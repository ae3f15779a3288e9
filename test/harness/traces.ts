// An SDK of OpenTelemetry in as little as the API accepts: it keeps every span in memory, and knows
// within which one something is done.

import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import {
  type Attributes,
  type Context,
  type ContextManager,
  context,
  type Link,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  type SpanOptions,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api'

export type KeptSpan = {
  name: string
  id: string
  trace: string
  /** The span above it. */
  parent: string | undefined
  links: SpanContext[]
  attributes: Attributes
  events: { name: string; attributes: Attributes }[]
  failed: boolean
  ended: boolean
}

function spanOf(kept: KeptSpan): Span {
  const span: Span = {
    spanContext: () => ({ traceId: kept.trace, spanId: kept.id, traceFlags: TraceFlags.SAMPLED }),
    setAttribute: (key, value) => span.setAttributes({ [key]: value }),
    setAttributes(attributes) {
      Object.assign(kept.attributes, attributes)
      return span
    },
    addEvent(name, attributes) {
      kept.events.push({ name, attributes: attributes as Attributes })
      return span
    },
    addLink: (link) => span.addLinks([link]),
    addLinks(links) {
      kept.links.push(...links.map((one) => one.context))
      return span
    },
    setStatus({ code }) {
      kept.failed = code === SpanStatusCode.ERROR
      return span
    },
    updateName(name) {
      kept.name = name
      return span
    },
    end() {
      kept.ended = true
    },
    isRecording: () => !kept.ended,
    recordException() {
      throw new Error('what was thrown is nothing for a span')
    },
  }
  return span
}

const contextsOf = (links: readonly Link[] = []) => links.map((one) => one.context)

function tracerOf(spans: KeptSpan[]): Tracer {
  function startSpan(name: string, { attributes, links }: SpanOptions = {}, at?: Context): Span {
    const above = trace.getSpanContext(at ?? context.active())
    const kept: KeptSpan = {
      name,
      id: randomBytes(8).toString('hex'),
      trace: above?.traceId ?? randomBytes(16).toString('hex'),
      parent: above?.spanId,
      links: contextsOf(links),
      attributes: { ...attributes },
      events: [],
      failed: false,
      ended: false,
    }
    spans.push(kept)
    return spanOf(kept)
  }
  function startActiveSpan(name: string, ...rest: unknown[]) {
    const work = rest.pop() as (span: Span) => unknown
    const [options, at = context.active()] = rest as [SpanOptions?, Context?]
    const span = startSpan(name, options, at)
    return context.with(trace.setSpan(at, span), () => work(span))
  }
  return { startSpan, startActiveSpan: startActiveSpan as Tracer['startActiveSpan'] }
}

const storage = new AsyncLocalStorage<Context>()
const manager: ContextManager = {
  active: () => storage.getStore() ?? ROOT_CONTEXT,
  with: (at, work, self, ...args) => storage.run(at, () => work.call(self!, ...args)),
  bind: (_at, target) => target,
  enable: () => manager,
  disable: () => manager,
}

/** From now on all spans of this process are kept there, until `stop`. */
export function keepSpans(): { spans: KeptSpan[]; stop(): void } {
  const spans: KeptSpan[] = []
  const tracer = tracerOf(spans)
  trace.setGlobalTracerProvider({ getTracer: () => tracer })
  context.setGlobalContextManager(manager)
  return {
    spans,
    stop() {
      trace.disable()
      context.disable()
    },
  }
}
