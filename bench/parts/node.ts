// The other end of node_process.ts: a node in a process of its own.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { NodeReply, NodeTask } from './node_process.ts'

export type BenchNode = {
  url: string
  /** Addresses of so many accounts that were made just now. */
  accounts(count: number): Promise<string[]>
  /** So many requests are answered in any second from now on; null: all. */
  allow(per_second: number | null): Promise<void>
  /** How many requests were answered, and how many refused with 429. */
  counts(): Promise<{ answered: number; refused: number }>
  end(): void
}

export async function startNode(folder: string): Promise<BenchNode> {
  const child = fork(join(import.meta.dirname, 'node_process.ts'), {
    stdio: 'inherit',
    execArgv: [...process.execArgv, '--expose-gc'],
  })
  const ready = once(child, 'message')
  const ended = once(child, 'exit').then(() => {
    throw new Error('the node has ended')
  })
  ended.catch(() => {})
  const said = async (message: Promise<unknown[]>) =>
    (await Promise.race([message, ended]))[0] as NodeReply
  const ask = (task: NodeTask) => {
    const message = once(child, 'message')
    child.send(task)
    return said(message)
  }
  const { url } = (await said(ready)) as { url: string }
  return {
    url,
    async accounts(count) {
      const file = join(folder, 'accounts')
      await ask({ accounts: count, file })
      return (await readFile(file, 'utf8')).split('\n')
    },
    async allow(per_second) {
      await ask({ allow: per_second })
    },
    counts: async () => (await ask('counts')) as { answered: number; refused: number },
    end: () => child.disconnect(),
  }
}
