#!/usr/bin/env node
// The program: this process's arguments, environment and terminal.

import { createInterface } from 'node:readline/promises'
import { text } from 'node:stream/consumers'
import type { Io } from './line/io.ts'
import { runCommand } from './run.ts'

declare const PENSTOCK_CLI_VERSION: string | undefined
const version = typeof PENSTOCK_CLI_VERSION === 'string' ? PENSTOCK_CLI_VERSION : 'from source'

const { stdin, stdout, stderr, env } = process
const interrupted = new AbortController()
const interrupt = () => interrupted.abort(new Error('interrupted'))
process.once('SIGINT', interrupt)

// A pipe that nobody reads any more, as `| head` leaves one, is no failure. What is said beside the
// result may come before a purchase, which goes on.
for (const stream of [stdout, stderr])
  stream.on('error', (thrown: NodeJS.ErrnoException) => {
    if (thrown.code !== 'EPIPE') throw thrown
    if (stream === stdout) process.exit()
  })

async function ask(question: string, hidden = false): Promise<string> {
  const lines = createInterface({ input: stdin, output: stderr, terminal: true })
  // What is typed must not be shown.
  if (hidden) Object.assign(lines, { _writeToOutput: () => {} })
  if (hidden) stderr.write(question)
  // Keys are read one by one meanwhile, so that Ctrl-C is no signal of the system.
  lines.once('SIGINT', interrupt)
  try {
    return await lines.question(hidden ? '' : question, { signal: interrupted.signal })
  } catch (thrown) {
    interrupted.signal.throwIfAborted()
    throw thrown
  } finally {
    if (hidden) stderr.write('\n')
    lines.close()
  }
}

const io: Io = {
  env,
  out: (written) => stdout.write(written),
  err: (written) => stderr.write(written),
  input: () => text(stdin),
  ask: stdin.isTTY && stderr.isTTY ? ask : undefined,
  color: Boolean(stdout.isTTY) && !env.NO_COLOR && env.TERM !== 'dumb',
  columns: (stdout.isTTY && stdout.columns) || undefined,
  signal: interrupted.signal,
}

process.exitCode = await runCommand(process.argv.slice(2), version, io)
