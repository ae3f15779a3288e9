// Programs that a machine may have or not: what needs one is skipped with a sentence where it is
// missing.

import { spawnSync } from 'node:child_process'

/** Why what needs these programs is skipped; false when they are here. `from` says where they come
 *  from. */
export function without(programs: readonly string[], from: string): string | false {
  const missing = programs.filter(
    (name) => spawnSync(name, ['--version'], { stdio: 'ignore' }).error !== undefined,
  )
  return missing.length > 0 && `not run: ${missing.join(' and ')} missing (${from})`
}
