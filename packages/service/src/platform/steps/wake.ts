// Waking steps of other processes. A hint, mostly sent outside of any transaction and at most a few
// times a second for each step; when it is lost, the step looks by itself soon after.

import type pg from 'pg'
import { cutOff, Hosts, openClient } from '../database/hosts.ts'
import type { Sql, Tx } from '../database/sql.ts'

const CHANNEL = 'penstock_wake'
const RETRY_MS = 1_000
/** For each step: orders come by the thousand, and one run of a step takes up many. */
const PAUSE_MS = 30

/** Tells the processes that listen, at once; what is to be told of a step less than PAUSE_MS after
 *  that is told together at the end of the pause. Never throws and is not waited for. */
export function wakeOthers(sql: Sql): (step: string) => void {
  /** Steps that were told of a moment ago, and whether they are to be told of again. */
  const paused = new Map<string, { again: boolean }>()
  const end = (step: string) => {
    const { again } = paused.get(step)!
    paused.delete(step)
    if (again) tell(step)
  }
  function tell(step: string): void {
    paused.set(step, { again: false })
    sql`select pg_notify(${CHANNEL}, ${step})`
      .catch(() => {})
      .finally(() => setTimeout(end, PAUSE_MS, step).unref())
  }
  return (step) => {
    const pause = paused.get(step)
    if (pause) pause.again = true
    else tell(step)
  }
}

/** Tells the processes that listen as soon as the transaction is there. Its commit waits for those
 *  of others who tell something so: for rare things alone. */
export function wakeAtCommit(tx: Tx, step: string): void {
  tx.send`select pg_notify(${CHANNEL}, ${step})`
}

export type Listener = { stop(): Promise<void> }

/** Calls `wake` for what others tell, on a connection of its own that is made again when it is
 *  lost. */
export function listenForWakes(
  url: string,
  wake: (step: string) => void,
  /** Given what ends the connection, for when the server does not answer any more. */
  whenLost: (drop: () => void) => void = () => {},
): Listener {
  const hosts = Hosts.of(url)
  let stopped = false
  let client: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined

  function again() {
    client = undefined
    if (!stopped && timer === undefined) {
      timer = setTimeout(() => {
        timer = undefined
        void listen()
      }, RETRY_MS)
    }
  }
  async function listen() {
    try {
      const fresh = await openClient(hosts, {
        keepAlive: true,
        connectionTimeoutMillis: 10_000,
        application_name: 'penstock wake',
      })
      if (stopped) return await fresh.end()
      client = fresh
      fresh.on('notification', ({ payload }) => payload && wake(payload))
      fresh.on('end', again)
      await fresh.query(`listen ${CHANNEL}`)
    } catch {
      await client?.end().catch(() => {})
      again()
    }
  }
  void listen()
  whenLost(() => client && cutOff(client))
  return {
    async stop() {
      stopped = true
      clearTimeout(timer)
      await client?.end().catch(() => {})
    },
  }
}
