// Signed calls over keep-alive connections, as cheap for the caller as they can be made in Node:
// the load generator runs on the same cores as what it measures.

import { hash } from 'node:crypto'
import { Agent, request } from 'node:http'

export type Access = { token: string; secret: string }
export type Reply = { code: number; error?: string; result?: { id?: string; status?: string } }

/** As many connections as `penstock-sdk` opens: a service takes no more than some hundred of one
 *  address, and closes the others unheard. */
const CONNECTIONS_MAX = 64

/** Calls with so many connections at once; more calls than that wait for one. Never follows, never
 *  retries. */
export function signedCall(
  api_url: string,
  { token, secret }: Access,
  connections_max = CONNECTIONS_MAX,
) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections_max })
  const { hostname, port } = new URL(api_url)
  const authorization = `Bearer ${token}`
  return (path: string, params: object): Promise<Reply> => {
    const body = JSON.stringify(params)
    const headers = {
      authorization,
      'x-signature': hash('sha256', body + secret),
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    }
    return new Promise((resolve, reject) => {
      const sent = request({ hostname, port, path, method: 'POST', agent, headers }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () => resolve(JSON.parse(Buffer.concat(chunks).toString()) as Reply))
        response.on('error', reject)
      })
      sent.on('error', reject)
      sent.end(body)
    })
  }
}
