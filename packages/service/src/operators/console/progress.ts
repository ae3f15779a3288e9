// A long answer as a stream: how far the work is, and in the end what it has come to.

import { PassThrough, type Readable } from 'node:stream'
import type { Progress } from '../table/operation.ts'

/** More often than this nobody reads it. */
const BETWEEN_MS = 200
/** Something comes at least so often, so that no proxy takes the connection for dead. */
const BEAT_MS = 15_000

/** Lines of server-sent events: `progress` as often as it is worth while, then one `result`, which
 *  work() returns. The work goes on when nobody reads any more. */
export function answerStream(
  work: (progress: (at?: Progress) => void) => Promise<string>,
): Readable {
  const stream = new PassThrough()
  const write = (text: string) => {
    if (stream.writable) stream.write(text)
  }
  let last_ms = 0
  const progress = (at?: Progress) => {
    const now_ms = performance.now()
    if (at === undefined || now_ms - last_ms < BETWEEN_MS) return
    last_ms = now_ms
    write(frame('progress', JSON.stringify({ ...at, whole: at.whole ?? null })))
  }
  const beat = setInterval(() => write(': \n\n'), BEAT_MS).unref()
  // A proxy shows nothing of an answer that has only begun.
  write(': \n\n')
  void work(progress).then((result) => {
    clearInterval(beat)
    write(frame('result', result))
    stream.end()
  })
  return stream
}

/** One event; its data has no line breaks. */
export const frame = (event: string, data: string): string => `event: ${event}\ndata: ${data}\n\n`
