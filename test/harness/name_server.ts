// A DNS server on this machine that answers as it is told to, over UDP and TCP: at once, slowly,
// never, that it failed, with more than a datagram takes, or another way each time.

import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

/** Addresses of IPv4, all of them in each answer; several lists are answered in turn. `'fails'`:
 *  SERVFAIL; `'missing'`: NXDOMAIN; `'silent'`: no answer ever. */
export type NameAnswer =
  | { addresses: readonly (readonly string[])[]; delay_ms?: number }
  | 'fails'
  | 'missing'
  | 'silent'

export type NameServer = {
  /** As a setting has it: `127.0.0.1:5353`. */
  address: string
  /** How often each name was asked for, for addresses of IPv4. */
  asked: Map<string, number>
  close(): void
}

const TYPE_A = 1
const SERVFAIL = 2
const NXDOMAIN = 3
const UDP_BYTES_MAX = 512

/** A server that answers for each name what it is told to at that moment. */
export async function startNameServer(answerOf: (name: string) => NameAnswer): Promise<NameServer> {
  const asked = new Map<string, number>()
  const handle = (query: Buffer, max: number, send: (answer: Buffer) => void): void => {
    const { name, type, end } = readQuestion(query)
    const count = asked.get(name) ?? 0
    if (type === TYPE_A) asked.set(name, count + 1)
    const answer = answerOf(name)
    if (answer === 'silent') return
    if (answer === 'fails' || answer === 'missing') {
      send(message(query.subarray(0, end), answer === 'fails' ? SERVFAIL : NXDOMAIN, []))
      return
    }
    const { addresses, delay_ms = 0 } = answer
    const found = type === TYPE_A ? addresses[count % addresses.length]! : []
    const whole = message(query.subarray(0, end), 0, found)
    const sent = whole.length > max ? truncated(query.subarray(0, end)) : whole
    setTimeout(() => send(sent), delay_ms)
  }
  const tcp = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (data) => {
      handle(data.subarray(2), 65_535, (answer) => {
        const length = Buffer.alloc(2)
        length.writeUInt16BE(answer.length)
        if (socket.writable) socket.write(Buffer.concat([length, answer]))
      })
    })
  })
  tcp.listen(0, '127.0.0.1')
  await once(tcp, 'listening')
  const { port } = tcp.address() as AddressInfo
  const udp = createSocket('udp4')
  let open = true
  udp.on('message', (query, from) =>
    handle(query, UDP_BYTES_MAX, (answer) => {
      if (open) udp.send(answer, from.port, from.address)
    }),
  )
  udp.bind(port, '127.0.0.1')
  await once(udp, 'listening')
  const close = () => {
    open = false
    udp.close()
    tcp.close()
  }
  return { address: `127.0.0.1:${port}`, asked, close }
}

function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = []
  let at = 12
  while (query[at]! > 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + query[at]!))
    at += 1 + query[at]!
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

/** The header and the question of an answer; no other section but that of the addresses. */
function message(asked: Buffer, code: number, addresses: readonly string[]): Buffer {
  const head = Buffer.from(asked)
  head.writeUInt16BE(0x8180 | code, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(addresses.length, 6)
  head.writeUInt32BE(0, 8)
  // A pointer to the name of the question, type A, class IN, to be kept for no time.
  const start = Buffer.from('c00c00010001000000000004', 'hex')
  const records = addresses.map((one) =>
    Buffer.concat([start, Buffer.from(one.split('.').map(Number))]),
  )
  return Buffer.concat([head, ...records])
}

function truncated(asked: Buffer): Buffer {
  const head = message(asked, 0, [])
  head.writeUInt16BE(0x8380, 2)
  return head
}
