// How nodes are reached in production: HTTP POST over connections that are kept, with a limit on
// time and on the answer's size. Each question of a purchase is one exchange, so an exchange is as
// cheap as it can be: `node:http` takes twice the processor's time of undici's dispatcher, `fetch`
// five times (docs/decisions/0045-undici.md).

import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { Agent, Client, type Dispatcher } from 'undici'

/** One HTTP exchange. Rejects with anything when there was no answer within `timeout_ms`. */
export type Transport = (request: {
  url: string
  body: string
  headers: Record<string, string>
  timeout_ms: number
  /** Asking twice is as good as asking once: what went out over a connection that the other side
   *  has just closed is asked again over a new one. */
  repeatable?: boolean
}) => Promise<{ status: number; body: string }>

type Request = Parameters<Transport>[0]
type PackedAnswer = { status: number; encoding: string | undefined; bytes: Buffer }

/** Far above a full block of the network. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024

/** What holds for each connection. An unused one is closed before most nodes do it, which would
 *  lose a question. The time that an exchange may take is ours alone to count, from its beginning
 *  to its end. */
const CONNECTION = {
  keepAliveTimeout: 4_000,
  keepAliveMaxTimeout: 4_000,
  pipelining: 1,
  allowH2: false,
  headersTimeout: 0,
  bodyTimeout: 0,
  maxResponseSize: ANSWER_BYTES_MAX,
}
const connections = new Agent({ ...CONNECTION, connections: 256 })

export const httpTransport: Transport = async (request) => {
  const { status, encoding, bytes } = await exchangeAgain(request)
  const body = encoding === 'gzip' ? await unpack(bytes) : bytes
  return { status, body: body.toString('utf8') }
}

const unpack = (bytes: Buffer) => promisify(gunzip)(bytes, { maxOutputLength: ANSWER_BYTES_MAX })

/** How the end of a connection is told that was closed when something was asked. */
const CLOSED = ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']

async function exchangeAgain(request: Request): Promise<PackedAnswer> {
  const began_ms = performance.now()
  try {
    return await exchange(request, connections)
  } catch (thrown) {
    const { code } = thrown as { code?: unknown }
    if (!request.repeatable || typeof code !== 'string' || !CLOSED.includes(code)) throw thrown
    const left_ms = Math.max(1, request.timeout_ms - (performance.now() - began_ms))
    const connection = new Client(new URL(request.url).origin, CONNECTION)
    try {
      return await exchange({ ...request, timeout_ms: left_ms }, connection)
    } finally {
      connection.destroy(null, () => {})
    }
  }
}

function exchange({ url, body, headers, timeout_ms }: Request, over: Dispatcher) {
  const { origin, pathname, search } = new URL(url)
  return new Promise<PackedAnswer>((resolve, reject) => {
    let under_way: Dispatcher.DispatchController | undefined
    let late: Error | undefined
    const timer = setTimeout(() => {
      late = new Error(`no answer in ${timeout_ms} ms`)
      under_way?.abort(late)
      reject(late)
    }, timeout_ms)
    const chunks: Buffer[] = []
    let status = 0
    let encoding: string | undefined
    over.dispatch(
      {
        origin,
        path: pathname + search,
        method: 'POST',
        headers: { 'content-type': 'application/json', 'accept-encoding': 'gzip', ...headers },
        body,
      },
      {
        onRequestStart: (controller) => {
          under_way = controller
          // It waited for a connection until its time was over: nothing is sent then.
          if (late) controller.abort(late)
        },
        onResponseStart: (_, code, answered) => {
          status = code
          encoding = [answered['content-encoding']].flat()[0]
        },
        onResponseData: (_, chunk) => void chunks.push(chunk),
        onResponseEnd: () => {
          clearTimeout(timer)
          const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
          resolve({ status, encoding, bytes })
        },
        onResponseError: (_, error) => {
          clearTimeout(timer)
          reject(error)
        },
      },
    )
  })
}
