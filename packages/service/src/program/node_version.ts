// Which versions of Node this service may run on with real money. A release that mends holes which
// a stranger could use belongs here, in the one table there is.

import { Misuse } from '../lib/fault.ts'

/** For each line of releases: what is below `refused_below` has holes that can be reached here
 *  (parsing of requests, TLS to nodes and to the database); what is below `mended_in` lacks fixes
 *  of others. */
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

/** What is known against a version: that it is refused, that it lacks fixes, or nothing. Lines that
 *  are newer than the table are taken as they come. */
export function judgeNode(version: string): { refused?: string; outdated?: string } {
  const lines = Object.keys(NODE_LINES).map(Number)
  const [major = 0] = parts(version)
  const line = NODE_LINES[major]
  const wanted = NODE_LINES[Math.min(...lines)]!.mended_in
  if (!line)
    return major > Math.max(...lines)
      ? {}
      : { refused: `Node ${version} is too old: use ${wanted} or newer.` }
  if (isBelow(version, line.refused_below))
    return { refused: `Node ${version} has known holes: use ${line.mended_in} or newer.` }
  return isBelow(version, line.mended_in) ? { outdated: line.mended_in } : {}
}

/** Throws Misuse when the version has known holes and that was not allowed. Returns the version
 *  that fixes what this one lacks, if there is one. */
export function requireSafeNode(version: string, allowed: boolean): string | undefined {
  const { refused, outdated } = judgeNode(version)
  if (refused !== undefined && !allowed)
    throw new Misuse(`${refused} PENSTOCK_ALLOW_OLD_NODE=yes starts all the same.`)
  return outdated
}
