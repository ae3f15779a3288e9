// Cleaning up after a long run, however it ends: processes ended, folders
// removed. A run that is interrupted (Ctrl-C, SIGTERM) does it too, and leaves with 130; only
// SIGKILL leaves something behind.

type Work = () => Promise<unknown> | unknown

const endings = new Set<() => Promise<void>>()
let interrupted = false

/** Remembers what has to be done. The caller does it by calling what is returned; it is done
 *  once. */
export function atEnd(work: Work): () => Promise<void> {
  let done: Promise<void> | undefined
  const end = () => {
    done ??= (async () => {
      await work()
      endings.delete(end)
    })()
    return done
  }
  endings.add(end)
  return end
}

/** From now on an interruption does what is remembered, the last first, before this process
 *  leaves. */
export function endWhenInterrupted(): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void leave())
}

async function leave(): Promise<void> {
  if (interrupted) return
  interrupted = true
  // Work under way fails now, one way or another.
  for (const event of ['unhandledRejection', 'uncaughtException'] as const)
    process.on(event, () => {})
  for (const end of [...endings].reverse()) await end().catch(() => {})
  process.exit(130)
}

/** Leaves with this code; when an interruption is under way, that one leaves. */
export function leaveWith(code: number): void {
  if (!interrupted) process.exit(code)
}

/** Whether what is thrown now is thrown because everything is being ended. */
export const isInterrupted = () => interrupted
