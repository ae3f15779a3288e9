// The load of `bench orders`, in a process of its own: signed purchases over raw keep-alive
// connections. Started with a file that says what to do; prints what it saw as JSON. It parses no
// more of an answer than it must.

import { hash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'

export type Task = {
  port: number
  clients: number
  warm_up_ms: number
  measure_ms: number
  /** The receivers, in turn. */
  addresses: string[]
  /** Purchases go out at their times, so many a second, answered or not; undefined: each client
   *  sends its next when it has its answer. */
  per_second?: number | undefined
  keys: { token: string; secret: string }[]
}
export type LoadFigures = {
  per_second: number
  p50_ms: number
  p99_ms: number
  refused: number
  /** What the first of them was answered. */
  first_refusal?: string | undefined
  /** Answered in all, before the measurement too, and what this process took of the processor. */
  answered: number
  cpu_us: number
}

const task = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as Task
const { per_second, clients } = task
const run_id = randomBytes(6).toString('hex')
const began_ms = performance.now()
const from_ms = began_ms + task.warm_up_ms
const end_ms = from_ms + task.measure_ms
const times: number[] = []
let next = 0
let refused = 0
let first_refusal: string | undefined
let answered = 0
const cpu_before = process.cpuUsage()

function request(client: number): string {
  const { token, secret } = task.keys[(client + next) % task.keys.length]!
  next += 1
  const address = task.addresses[next % task.addresses.length]!
  const params = `{"address":"${address}","amount":32000,"duration":1}`
  const body = `{"service":"energy","params":${params},"external_id":"${run_id}-${next}"}`
  const signature = hash('sha256', body + secret)
  return (
    `POST /v1/transaction/new HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ` +
    `${token}\r\nx-signature: ${signature}\r\ncontent-type: ` +
    `application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  )
}

const timeOf = (n: number, per_second: number) => began_ms + (1_000 * n) / per_second

function client(index: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(task.port, '127.0.0.1')
    let sent_ms = 0
    let turns = 0
    const send = () => {
      const now_ms = performance.now()
      // What goes out late, because the one before it was answered late, has waited since its time.
      sent_ms = per_second === undefined ? now_ms : timeOf(index + clients * turns++, per_second)
      if (sent_ms >= end_ms) {
        socket.destroy()
        resolve()
      } else if (sent_ms > now_ms) setTimeout(() => socket.write(request(index)), sent_ms - now_ms)
      else socket.write(request(index))
    }
    socket.setNoDelay(true)
    socket.on('connect', send)
    socket.on('error', reject)
    // An answer is far below what one read brings, so each read is one answer.
    socket.on('data', (chunk: Buffer) => {
      const now_ms = performance.now()
      if (now_ms >= from_ms && now_ms < end_ms) times.push(now_ms - sent_ms)
      answered += 1
      if (!chunk.includes('"code":0')) {
        refused += 1
        first_refusal ??= chunk.toString().split('\r\n\r\n')[1]
      }
      send()
    })
  })
}

await Promise.all(Array.from({ length: task.clients }, (_, index) => client(index)))
times.sort((a, b) => a - b)
const at = (share: number) => Math.round(10 * (times[Math.floor(share * times.length)] ?? 0)) / 10
const cpu = process.cpuUsage(cpu_before)
const seen: LoadFigures = {
  per_second: Math.round((1_000 * times.length) / task.measure_ms),
  p50_ms: at(0.5),
  p99_ms: at(0.99),
  refused,
  first_refusal,
  answered,
  cpu_us: cpu.user + cpu.system,
}
process.stdout.write(JSON.stringify(seen))
