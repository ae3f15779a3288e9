// Who wants to see each try of a call: for logs and measures. Nothing secret is shown: neither
// headers nor bodies.

/** One try of a call, as it begins. `attempt` 1 is the first. */
export type RequestInfo = { method: 'POST' | 'GET'; path: string; attempt: number }

/** The outcome of a try. `status` 0: there was no answer, and `error` says why. */
export type ResponseInfo = RequestInfo & {
  status: number
  /** Of the service; 0 is well. */
  code: number | undefined
  request_id: string
  ms: number
  error: Error | undefined
}

export type Listener = {
  request: (info: RequestInfo) => void
  response: (info: ResponseInfo) => void
}

export class Listeners {
  readonly #of = {
    request: new Set<Listener['request']>(),
    response: new Set<Listener['response']>(),
  }

  /** Returns what takes the listener off again. */
  on<Name extends keyof Listener>(name: Name, listener: Listener[Name]): () => void {
    const set = this.#of[name] as Set<Listener[Name]>
    set.add(listener)
    return () => void set.delete(listener)
  }

  request(info: RequestInfo): void {
    for (const listener of this.#of.request) quietly(() => listener(info))
  }

  response(info: ResponseInfo): void {
    for (const listener of this.#of.response) quietly(() => listener(info))
  }
}

/** A listener that throws changes nothing of the call: it is thrown where nobody waits. */
function quietly(tell: () => void): void {
  try {
    tell()
  } catch (thrown) {
    queueMicrotask(() => {
      throw thrown
    })
  }
}
