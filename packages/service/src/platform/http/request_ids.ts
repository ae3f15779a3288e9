// The ids of requests: random, and unlike the ids of rows they say nothing about the time.

import type { Random } from '../../lib/ids.ts'

/** Makes random UUIDs (version 4). Random bytes are drawn for many at a time: one by one they are a
 *  twentieth of a request. */
export function uuidMaker(random: Random): () => string {
  let bytes = Buffer.alloc(0)
  let at = 0
  return () => {
    if (at === bytes.length) {
      bytes = Buffer.from(random.bytes(16 * 256))
      at = 0
    }
    bytes[at + 6] = (bytes[at + 6]! & 0x0f) | 0x40
    bytes[at + 8] = (bytes[at + 8]! & 0x3f) | 0x80
    const hex = bytes.toString('hex', at, at + 16)
    at += 16
    const first = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}`
    return `${first}-${hex.slice(16, 20)}-${hex.slice(20)}`
  }
}
