// Listening on a port. One that cannot be had is the mistake of the person who starts the process,
// and not ours.

import { Misuse } from '../../lib/fault.ts'

/** Starts to listen; a port that is taken is the starter's mistake and not ours. */
export async function listening<T>(listen: () => Promise<T>, port: number | undefined): Promise<T> {
  try {
    return await listen()
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
    if (code === 'EADDRINUSE')
      throw new Misuse(`Port ${port} is in use; choose another, or 0 for any free one.`)
    if (code === 'EACCES')
      throw new Misuse(`Port ${port} needs more rights than this user has; choose one above 1023.`)
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
      throw new Misuse('This machine has no such address to listen on.')
    throw thrown
  }
}
