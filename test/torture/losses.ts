// Who decides which server takes writes, for `failover`: how the primary may be lost, and how
// another comes to be one. A new manner is a word of MANNERS, and the compiler asks each manager
// for it; a new manager is one more `Manager`, which failover.ts opens.

import { setTimeout as delay } from 'node:timers/promises'
import type { Postgres } from 'penstock-service/platform/postgres/server.ts'
import type { Servers } from './servers.ts'

/** A manager of our own sees that the primary is gone after about this long. */
const NOTICED_MS = 300
/** For so long the standbys are away before the primary is lost too. */
export const CUT_MS = 10_000

/** The ways to lose the primary; each manager knows all of them. */
export const MANNERS = ['kill', 'hang', 'cut', 'switchover', 'crash'] as const
export type Manner = (typeof MANNERS)[number]

/** A way to lose the primary, and what brings about that another one takes writes. */
export type Loss = {
  lose(): Promise<void>
  replace(): Promise<void>
  /** It takes so little time that who names a purchase does not notice. */
  unnoticed?: boolean
}

export type Manager = {
  readonly postgres: Postgres
  /** What leads to whichever server is the primary, where something stands in front of them. */
  readonly proxy_url?: string
  readonly losses: Readonly<Record<Manner, Loss>>
  /** What is left of the lost server is ended, and it follows the new primary. */
  comeBack(): Promise<void>
  /** What it is, for the result. */
  readonly described: Readonly<Record<string, unknown>>
}

/** Fences before it promotes the standby that has most, as a right manager does. */
export function ownManager(servers: Servers): Manager {
  let lost = servers.primary
  const replace = async () => {
    await delay(NOTICED_MS)
    lost = await servers.promote()
  }
  return {
    postgres: servers,
    described: { manager: 'own' },
    losses: {
      /** Every process of it is killed. */
      kill: { lose: () => servers.kill(servers.primary), replace },
      /** It stands still, with every connection open, and never goes on. */
      hang: { lose: () => servers.signal(servers.primary, 'SIGSTOP'), replace },
      /** The standbys are away, and commits wait for them, when it is killed. */
      cut: {
        async lose() {
          const { standbys } = servers
          for (const standby of standbys) await servers.kill(standby)
          await delay(CUT_MS)
          await servers.kill(servers.primary)
          await Promise.all(standbys.map((standby) => servers.start(standby)))
        },
        replace,
      },
      /** It is asked to stop, and lets the standbys have everything. */
      switchover: { lose: () => servers.stopOne(servers.primary), replace, unnoticed: true },
      /** Every process of it is killed, and it is started again: nobody is promoted. */
      crash: {
        lose: () => servers.kill(servers.primary),
        replace: () => servers.start(servers.primary),
      },
    },
    async comeBack() {
      if (lost !== servers.primary) {
        await servers.kill(lost)
        await servers.join(lost)
      }
      await servers.untilReplicated()
    },
  }
}
