#!/usr/bin/env node
// The command: the source where this is its repository, what was compiled of it in the package.
// Compiled code is kept between starts where Node.js can: it halves the time to the first answer.

import { existsSync } from 'node:fs'
import { enableCompileCache } from 'node:module'

enableCompileCache()
const source = new URL('./cli.ts', import.meta.url)
await import(existsSync(source) ? source.href : './cli.js')
