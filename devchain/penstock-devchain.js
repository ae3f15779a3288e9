#!/usr/bin/env node
// The command: the source where this is its repository, what was compiled of it where it is the published package.

import { existsSync } from 'node:fs'

const source = new URL('./cli.ts', import.meta.url)
await import(existsSync(source) ? source.href : './dist/cli.js')
