// What may be reached in the clear: this machine, and what the operator has allowed by name. Each
// such variable that makes a difference is told by `penstock-admin status` for as long as a
// process runs with it.

import { isLoopback } from '../../lib/networks.ts'

/** Whether the connection to the database is one that nobody on the way can read or answer: on this
 *  machine, or with a certificate that is checked. Of the modes only those count that say so; what
 *  others mean is up to the driver's version, and up to `uselibpqcompat`. */
export function isDatabasePrivate(url: string, env: NodeJS.ProcessEnv): boolean {
  // Without a host in it the address is of a socket in the file system.
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  const given = parsed?.searchParams ?? new URLSearchParams(/\?([^#]*)/.exec(url)?.[1])
  // As the driver reads it: of several the last counts, and an empty host is none.
  const last = (name: string) => given.getAll(name).at(-1)
  const host = last('host') || decodeURIComponent(parsed?.hostname ?? hostOf(url))
  if (host === '' ? !env.PGHOST || isLocal(env.PGHOST) : isLocal(host)) return true
  if (env.NODE_TLS_REJECT_UNAUTHORIZED === '0') return false
  const mode = last('sslmode') ?? env.PGSSLMODE
  return mode === 'verify-full' || (mode === 'verify-ca' && given.has('sslrootcert'))
}

const isLocal = (host: string) => host.startsWith('/') || isLoopback(host)

/** The host of an address that has none to speak of, such as `postgres://user:password@/name`. */
const hostOf = (url: string) => /^[a-z]+:\/\/(?:[^@/]*@)?([^:/?]*)/.exec(url)?.[1] ?? ''
