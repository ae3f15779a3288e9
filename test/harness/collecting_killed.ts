// Collecting by the program itself, in a process that is killed with SIGKILL, at a request of the
// node, before it is answered or after, at a moment, or as soon as the database has a row. The
// story has a short form, the long test a thousand addresses.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { USDT } from 'penstock-tron/tokens.ts'
import { assertExact, depositSecret, type SentBatch, type Town, tokensOf } from './collecting.ts'
import { booksFindings } from './operator.ts'
import type { World } from './world.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const CLOCK = join(ROOT, 'test/torture/clock_ahead.mjs')

/** When a process is killed. `answered`: the node has done what it was asked for by then. */
export type Kill =
  | { request: number; answered: boolean }
  | { ms: number }
  | { row_of: 'collection' }
  | undefined

type Output = { killed: boolean; code: number | null; out: string; err: string }

/** A node of the world's chain, for other processes. */
class NodeServer {
  requests = 0
  onRequest: (number: number, answered: boolean) => boolean = () => false
  private readonly server: Server

  constructor(world: World) {
    this.server = createServer(async (request, response) => {
      const body = await text(request)
      const number = ++this.requests
      // A request of a process that is killed before it reaches nobody.
      if (this.onRequest(number, false)) return void request.socket.destroy()
      const path = new URL(request.url ?? '/', 'http://node').pathname
      const answer = world.scene.devchain.request('POST', path, body)
      if (this.onRequest(number, true)) return void request.socket.destroy()
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body)
    })
  }

  async open(): Promise<string> {
    this.server.listen(0, '127.0.0.1')
    await once(this.server, 'listening')
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    this.server.closeAllConnections()
    this.server.close()
    await once(this.server, 'close')
  }
}

export type KilledFigures = { transfers: number; kills: Record<string, number>; ms: number }

/** The operator's program, as it is typed at a terminal. */
class Program {
  private readonly town: Town
  readonly node: NodeServer
  readonly url: string

  constructor(town: Town, node: NodeServer, url: string) {
    this.town = town
    this.node = node
    this.url = url
  }

  async run(words: readonly string[], kill: Kill): Promise<Output> {
    const { world, at } = this.town
    const child = spawn(process.execPath, ['packages/service/src/main.ts', ...words, '--json'], {
      cwd: ROOT,
      env: {
        ...process.env,
        ...(at.io.env as Record<string, string>),
        NODE_OPTIONS: `--import=${CLOCK}`,
        CLOCK_AHEAD_MS: String(world.now.getTime() - Date.now()),
      },
    })
    let killed = false
    const end = () => {
      killed = true
      return child.kill('SIGKILL')
    }
    this.node.requests = 0
    this.node.onRequest = (number, answered) =>
      kill !== undefined && 'request' in kill && kill.request === number
        ? kill.answered === answered && end()
        : killed
    const over = once(child, 'close')
    child.stdin.on('error', () => {})
    child.stdin.end(depositSecret())
    if (kill && 'ms' in kill) setTimeout(end, kill.ms).unref()
    if (kill && 'row_of' in kill) void this.killAtRow(end, () => child.exitCode !== null || killed)
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
    const [code] = (await over) as [number | null]
    return { killed: code === null && killed, code, out, err }
  }

  private async killAtRow(end: () => void, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const [row] = await this.town.world.sql`select 1 from collection limit 1`
      if (row) return end()
      await delay(2)
    }
  }
}

type Points = { collect: Kill[]; sign_ms: number[]; every: number }

/** Kills at every point of the way, then looks: nothing is collected twice, nothing left out. */
export async function collectKilled(town: Town, points: Points): Promise<KilledFigures> {
  const began_ms = performance.now()
  const node = new NodeServer(town.world)
  const program = new Program(town, node, await node.open())
  const kills: Record<string, number> = { collect: 0, sign: 0, broadcast: 0 }
  try {
    const transfers = await collectAtLast(town, program, points.collect, kills)
    await signAtLast(town, program, points.sign_ms, kills)
    await broadcastAtLast(town, program, points.every, kills)
    await assertOnceEach(town, program, transfers)
    return { transfers, kills, ms: Math.round(performance.now() - began_ms) }
  } finally {
    await node.close()
  }
}

/** The batch is made once, whole or not at all, whenever the program is killed. */
async function collectAtLast(
  { world, at, safe, paid, file }: Town,
  program: Program,
  points: readonly Kill[],
  kills: Record<string, number>,
): Promise<number> {
  const node = ['--node-url', program.url]
  const wanted = paid.length + paid.filter(({ tokens }) => tokens > 0n).length
  const words = ['treasury', 'collect', '--to', safe.address, '--token', USDT, '--burn', ...node]
  for (const kill of [...points, { row_of: 'collection' } as const]) {
    const { killed, err } = await program.run([...words, '--file', file], kill)
    // The batch is its last row: it may have ended by itself.
    assert.ok(
      killed || (kill && 'row_of' in kill),
      `it ended before ${JSON.stringify(kill)}: ${err}`,
    )
    kills.collect! += 1
    const rows = await world.sql`select 1 from collection_transfer`
    const is_made = kill !== undefined && 'row_of' in kill
    assert.equal(rows.length, is_made ? wanted : 0, 'it is made whole, or not at all')
  }
  const again = await program.run([...words, '--file', file], undefined)
  assert.match(again.err, /There is nothing to collect/)
  const [made, ...more] = await at.json<{ id: string; transfers: number }[]>('treasury', 'list')
  assert.deepEqual([made!.transfers, more], [wanted, []])
  const files = ['treasury', 'file', made!.id, '--file', file, ...node]
  await program.run(files, { ms: 400 })
  kills.collect! += 1
  const written = await program.run(files, undefined)
  assert.equal(written.code, 0, written.err)
  return wanted
}

/** The file is signed as a whole, or as it was. */
async function signAtLast(
  { file }: Town,
  program: Program,
  points: readonly number[],
  kills: Record<string, number>,
): Promise<void> {
  const signatures = async () => {
    const { parts } = JSON.parse(await readFile(file, 'utf8')) as {
      parts: { transfers: { signature?: string }[] }[]
    }
    const all = parts.flatMap(({ transfers }) => transfers)
    const signed = all.filter(({ signature }) => signature !== undefined)
    assert.ok([0, all.length].includes(signed.length), `${signed.length} of ${all.length}`)
    return signed.length
  }
  await signatures()
  for (const ms of points) {
    const { killed } = await program.run(['wallets', 'sign', file], { ms })
    if (killed) kills.sign! += 1
    await signatures()
  }
  const signed = await program.run(['wallets', 'sign', file], undefined)
  assert.equal(signed.code, 0, signed.err)
  assert.ok((await signatures()) > 0)
}

/** Killed at a request further on each time, before it is answered and after in turn, while blocks
 *  are made and taken back. */
async function broadcastAtLast(
  { world, file }: Town,
  program: Program,
  every: number,
  kills: Record<string, number>,
): Promise<void> {
  const words = ['wallets', 'broadcast', file, '--burn', '--node-url', program.url]
  for (let n = 1; ; n += every) {
    const answered = kills.broadcast! % 2 === 1
    const { killed, code, err } = await program.run(words, { request: n, answered })
    if (!killed) {
      assert.equal(code, 0, err)
      break
    }
    kills.broadcast! += 1
    if (kills.broadcast! % 3 === 0) world.mine()
    if (kills.broadcast! % 4 === 0) await world.drain()
    if (kills.broadcast! === 6) world.fork(1)
  }
  world.mine(2)
  await world.drain()
  world.fork(2)
  await world.drain()
  const last = await program.run(words, undefined)
  assert.equal(last.code, 0, last.err)
  assert.deepEqual((JSON.parse(last.out) as SentBatch).refused, [])
}

async function assertOnceEach(town: Town, program: Program, transfers: number): Promise<void> {
  const { world, at, file, paid } = town
  for (let i = 0; i < 3; i++) await world.solidify()
  const shown = await assertExact(town)
  assert.equal(shown.under_way_sun, 0)
  const rows = await world.sql<{ state: string; count: bigint; places: bigint }>`
    select state, count(*), count(distinct (address, token)) as places from collection_transfer
    group by state`
  const all = BigInt(transfers)
  assert.deepEqual([...rows], [{ state: 'collected', count: all, places: all }])
  for (const { address, tokens } of paid)
    if (tokens > 0n) assert.equal(await tokensOf(town, address), 0n)
  // Sent once more, nothing is there twice.
  const words = ['wallets', 'broadcast', file, '--burn', '--node-url', program.url]
  const { out } = await program.run(words, undefined)
  const { sent, there } = JSON.parse(out) as SentBatch
  assert.deepEqual([sent, there], [0, transfers])
  await world.solidify()
  await assertExact(town)
  assert.deepEqual(await booksFindings(at), [])
}
