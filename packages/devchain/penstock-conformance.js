#!/usr/bin/env node
// The conformance suite as a command; source or compiled, as in penstock-devchain.js.

import { existsSync } from 'node:fs'

const source = new URL('./conformance/conformance.ts', import.meta.url)
await import(existsSync(source) ? source.href : './conformance.js').then(({ main }) => main())
