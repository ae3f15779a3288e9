// How far a long operation is.

import type { Needs } from './operation.ts'

/** Runs work that tells which of how many blocks it has come to, and of what, and clears that at
 *  its end. */
export async function tellBlocks<Result>(
  { progress }: Pick<Needs, 'progress'>,
  work: (tell: (block: number, last: number, what?: string) => void) => Promise<Result>,
): Promise<Result> {
  return work((done, last, what) =>
    progress({ done, whole: last, unit: 'blocks', ...(what !== undefined && { what }) }),
  ).finally(() => progress())
}
