// Puts the pages together in a process of its own, which store.ts has started: esbuild takes a core
// and some hundred MB for seconds, and ends loudly when it is cut off. With the process above ends
// this one.

import { bundle } from './bundle.ts'
import type { BundleMessage } from './store.ts'

process.once('disconnect', () => process.exit())

const [sources_sha256 = '', quality = ''] = process.argv.slice(2)
const message: BundleMessage = await bundle(sources_sha256, Number(quality)).then(
  (build) => ({ build }),
  (thrown: unknown) => ({ thrown: thrown instanceof Error ? thrown.message : String(thrown) }),
)
process.send!(message, undefined, undefined, () => process.disconnect())
