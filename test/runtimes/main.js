// For Node, Bun and Deno: tries everything with what stands in the first argument, as JSON.

import { everywhere } from './everywhere.js'

const tried = await everywhere(JSON.parse(globalThis.process.argv[2]))
console.log(JSON.stringify(tried))
