// How nodes are reached in production: HTTP POST over connections that are kept, with a limit on
// time and on the answer's size. Each question of a purchase is one exchange, so an exchange is as
// cheap as it can be: `fetch` takes four times the processor's time.

import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'

/** One HTTP exchange. Rejects with anything when there was no answer within `timeout_ms`. */
export type Transport = (request: {
  url: string
  body: string
  headers: Record<string, string>
  timeout_ms: number
  /** Asking twice is as good as asking once: what went out over a kept connection that the other
   *  side has just closed is asked again over a new one. */
  repeatable?: boolean
}) => Promise<{ status: number; body: string }>

/** Far above a full block of the network. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024

/** An unused connection is closed before most nodes do it, which would lose a question. */
const KEPT = { keepAlive: true, maxSockets: 256, timeout: 4_000 }
const plain = { request: httpRequest, agent: new HttpAgent(KEPT) }
const secure = { request: httpsRequest, agent: new HttpsAgent(KEPT) }

export const httpTransport: Transport = async (asked) => {
  const { status, encoding, bytes } = await exchangeAgain(asked)
  const body = encoding === 'gzip' ? await unpack(bytes) : bytes
  return { status, body: body.toString('utf8') }
}

const unpack = (bytes: Buffer) => promisify(gunzip)(bytes, { maxOutputLength: ANSWER_BYTES_MAX })

/** How the end of a connection is told that was closed when something was asked. */
const CLOSED = ['ECONNRESET', 'EPIPE']
/** A question that went out over a connection that had carried another, and was closed instead of
 *  answered. */
class KeptConnectionClosed extends Error {
  override name = 'KeptConnectionClosed'
}

async function exchangeAgain(asked: Parameters<Transport>[0]): Promise<PackedAnswer> {
  const began_ms = performance.now()
  try {
    return await exchange(asked)
  } catch (thrown) {
    if (!asked.repeatable || !(thrown instanceof KeptConnectionClosed)) throw thrown
    const left_ms = Math.max(1, asked.timeout_ms - (performance.now() - began_ms))
    return exchange({ ...asked, timeout_ms: left_ms }, 'new connection')
  }
}

type PackedAnswer = { status: number; encoding: string | undefined; bytes: Buffer }

function exchange(
  { url, body, headers, timeout_ms }: Parameters<Transport>[0],
  over: 'kept connection' | 'new connection' = 'kept connection',
) {
  return new Promise<PackedAnswer>((resolve, reject) => {
    const { request, agent } = url.startsWith('https:') ? secure : plain
    const sent = request(url, {
      agent: over === 'kept connection' && agent,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'accept-encoding': 'gzip',
        'content-length': Buffer.byteLength(body),
        ...headers,
      },
    })
    const timer = setTimeout(
      () => sent.destroy(new Error(`no answer in ${timeout_ms} ms`)),
      timeout_ms,
    )
    sent.on('close', () => clearTimeout(timer))
    sent.on('error', (error: NodeJS.ErrnoException) => {
      const was_closed = sent.reusedSocket && CLOSED.includes(error.code ?? '')
      reject(was_closed ? new KeptConnectionClosed(error.message, { cause: error }) : error)
    })
    sent.on('response', (response) => {
      collect(response, (bytes) =>
        resolve({
          status: response.statusCode ?? 0,
          encoding: response.headers['content-encoding'],
          bytes,
        }),
      )
      response.on('error', reject)
    })
    sent.end(body)
  })
}

/** Ends an answer that is longer than any can be. */
function collect(response: IncomingMessage, done: (bytes: Buffer) => void): void {
  const chunks: Buffer[] = []
  let length = 0
  response.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    length += chunk.length
    if (length > ANSWER_BYTES_MAX)
      response.destroy(new Error(`the answer has more than ${ANSWER_BYTES_MAX} bytes`))
  })
  response.on('end', () => done(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)))
}
