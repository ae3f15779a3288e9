// Answers where there is no reply to send: bytes that are no HTTP request, CONNECT, connections
// beyond the limits. Node has let go of such a socket, or is about to: its errors are ours, and one
// that nobody listens for ends the process.

import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { transportRefusal } from '../wire/replies.ts'

const UNREADABLE: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

/** The status for bytes that Node could not read as a request, by the code of its complaint. */
export function statusOfUnreadable(reason: string | undefined): number {
  return UNREADABLE[reason ?? ''] ?? 400
}

/** Answers in the wire's form and ends our side. Whatever becomes of the socket harms nobody. */
export function refuseBare(socket: Socket, status: number, request_id: string): void {
  socket.on('error', () => socket.destroy())
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const { body, headers } = transportRefusal(
    request_id,
    status,
    status === 503 ? { 'Retry-After': '1' } : {},
  )
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${value}`),
    `X-Request-Id: ${request_id}`,
    'Connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}
