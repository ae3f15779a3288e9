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
}) => Promise<{ status: number; body: string }>

/** Far above a full block of the network. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024

/** An unused connection is closed before a node does it, which would lose a question. */
const KEPT = { keepAlive: true, maxSockets: 256, timeout: 4_000 }
const plain = { request: httpRequest, agent: new HttpAgent(KEPT) }
const secure = { request: httpsRequest, agent: new HttpsAgent(KEPT) }

export const httpTransport: Transport = async (asked) => {
  const { status, encoding, bytes } = await exchange(asked)
  const body = encoding === 'gzip' ? await unpack(bytes) : bytes
  return { status, body: body.toString('utf8') }
}

const unpack = (bytes: Buffer) => promisify(gunzip)(bytes, { maxOutputLength: ANSWER_BYTES_MAX })

type PackedAnswer = { status: number; encoding: string | undefined; bytes: Buffer }

function exchange({ url, body, headers, timeout_ms }: Parameters<Transport>[0]) {
  return new Promise<PackedAnswer>((resolve, reject) => {
    const { request, agent } = url.startsWith('https:') ? secure : plain
    const sent = request(url, {
      agent,
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
    sent.on('error', reject)
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
