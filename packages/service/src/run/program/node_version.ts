// Which versions of Node this service may run on with real money. A release that mends holes which
// a stranger could use belongs here, in the one table there is.

import { Misuse } from '../../lib/fault.ts'

/** For each line of releases: what is below `refused_below` has holes that can be reached here
 *  (parsing of requests, TLS to nodes and to the database); `mended_in` is what to use instead. */
export const NODE_LINES: Readonly<Record<number, { refused_below: string; mended_in: string }>> = {
  24: { refused_below: '24.18.1', mended_in: '24.22.1' },
}

const parts = (version: string) => version.replace(/^v/, '').split('.').map(Number)

/** Whether a version comes before another. */
function isBelow(version: string, other: string): boolean {
  const [a, b] = [parts(version), parts(other)]
  const at = a.findIndex((number, i) => number !== b[i])
  return at >= 0 && a[at]! < b[at]!
}

/** Why a version must not serve; undefined when nothing is known against it. Lines that are newer
 *  than the table are taken as they come. */
export function whyRefused(version: string): string | undefined {
  const lines = Object.keys(NODE_LINES).map(Number)
  const [major = 0] = parts(version)
  const line = NODE_LINES[major]
  if (!line)
    return major > Math.max(...lines)
      ? undefined
      : `Node ${version} is too old: use ${NODE_LINES[Math.min(...lines)]!.mended_in} or newer.`
  if (isBelow(version, line.refused_below))
    return `Node ${version} has known holes: use ${line.mended_in} or newer.`
  return undefined
}

/** Throws Misuse when the version has known holes and that was not allowed. Returns the version to
 *  use instead when it has some and is allowed. */
export function requireSafeNode(version: string, allowed: boolean): string | undefined {
  const refused = whyRefused(version)
  if (refused === undefined) return undefined
  if (!allowed) throw new Misuse(`${refused} PENSTOCK_ALLOW_OLD_NODE=yes starts all the same.`)
  const [major = 0] = parts(version)
  return (NODE_LINES[major] ?? NODE_LINES[Math.min(...Object.keys(NODE_LINES).map(Number))])!
    .mended_in
}
