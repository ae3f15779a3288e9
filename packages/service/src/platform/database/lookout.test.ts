import assert from 'node:assert/strict'
import { createServer, connect as dial, type Socket } from 'node:net'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { correctedClock, systemClock } from '../../lib/clock.ts'
import { Outage } from '../../lib/fault.ts'
import { lookout, type ServerSeen } from './lookout.ts'
import { connect } from './sql.ts'

test('what waits for a server that hangs fails after two looks', async (t) => {
  const { url } = await freshDatabase(t)
  const { hostname, port, host } = new URL(url)
  let hangs = false
  const sockets: Socket[] = []
  const front = createServer((socket) => {
    const back = dial(Number(port), hostname)
    sockets.push(socket, back)
    for (const one of [socket, back]) one.on('error', () => {})
    socket.on('data', (chunk) => hangs || back.write(chunk))
    back.on('data', (chunk) => hangs || socket.write(chunk))
    socket.on('close', () => back.destroy())
  })
  await new Promise<void>((listening) => front.listen(0, '127.0.0.1', listening))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    front.close()
  })
  const { port: front_port } = front.address() as { port: number }
  const in_front = url.replace(host, `127.0.0.1:${front_port}`)
  const sql = connect({ url: in_front })
  const soon = { connection_timeout_ms: 3_000, answer_timeout_ms: 3_000 }
  const own = connect({ url: in_front, connections_max: 1, ...soon })
  const corrected = correctedClock(systemClock)
  let dropped = 0
  const drop = () => {
    dropped += 1
    sql.drop()
  }
  const ask = async () => {
    const [seen] = await own<ServerSeen>`
      select clock_timestamp() as now, false as standby, 'one' as identity`
    return seen!
  }
  const look = lookout({ look: ask, clock: systemClock, corrected, drop })
  const answers = () => look().then(() => sql`select 1 as one`)
  assert.deepEqual(await answers(), [{ one: 1 }])
  hangs = true
  const waiting = assert.rejects(sql`select 1`, Outage)
  for (const so_far of [0, 1]) {
    await assert.rejects(look(), Outage)
    assert.equal(dropped, so_far)
  }
  await waiting
  hangs = false
  assert.deepEqual(await answers(), [{ one: 1 }])
  await Promise.all([sql, own].map((one) => one.close()))
})
