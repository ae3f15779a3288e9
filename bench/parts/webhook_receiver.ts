// A customer's receiver: it takes each notice and answers 204. It runs in a process of its own,
// and says how many calls it has had and when it first heard of each event.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** By the event's id and its webhook's path: when its first call was there. */
let first = new Map<string, number>()
let calls = 0

const server = createServer((request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    calls += 1
    const name = `${request.url} ${String(request.headers['webhook-id'])}`
    if (!first.has(name)) first.set(name, Date.now())
    response.writeHead(204).end()
  })
})
server.listen(0, '127.0.0.1', () => process.send!({ port: (server.address() as AddressInfo).port }))

process.on('message', (asked: 'count' | 'times' | 'forget') => {
  if (asked === 'times') process.send!({ times: [...first] })
  if (asked === 'count') process.send!({ count: first.size, calls })
  if (asked === 'forget') {
    first = new Map()
    calls = 0
    process.send!({})
  }
})
process.on('disconnect', () => process.exit(0))
