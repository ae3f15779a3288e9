// Which chain the service sells on, by the id of its first block.

import type { Node } from './node.ts'

const GENESIS: Readonly<Record<string, string>> = {
  '00000000000000001ebf88508a03865c71d452e25f4d51194196a1d22b6653dc': 'mainnet',
  '0000000000000000d698d4192c56cb6be724a558448e2684802de4d6cd8690dc': 'nile',
  '0000000000000000de1aa88295e1fcf982742f773e0419c5a9c134c994a9059e': 'shasta',
}

/** Reads the name of the network: `private` for a chain that is none of the known ones, undefined
 *  while no node has said. Only the first caller waits for a node; while none answers, the others
 *  do not. */
export function networkReader(node: Pick<Node, 'blocks'>): () => Promise<string | undefined> {
  let known: string | undefined
  let asking: Promise<void> | undefined
  let asked = false
  async function ask(): Promise<void> {
    const [genesis] = await node.blocks(0, 0, 'solid').catch(() => [])
    if (genesis) known = GENESIS[genesis.id] ?? 'private'
    asking = undefined
  }
  return async () => {
    if (known !== undefined) return known
    asking ??= ask()
    if (!asked) await asking
    asked = true
    return known
  }
}
