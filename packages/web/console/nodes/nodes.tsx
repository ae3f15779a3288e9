// What each node says of the chain, when it is asked.

import { Shape } from '../../shared/parts/state.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { count, say } from '../../shared/words/words.ts'
import { type Row, useRun } from '../calls/calls.ts'
import { Rows } from '../calls/rows.tsx'

/** Numbers are null where it has not answered. */
type Node = Row<'nodes list'>
/** Each look is some requests of every node: they are asked when the page opens and when somebody
 *  wants it, not with every tick. */
export function Nodes() {
  const nodes = useRun('nodes list', {})
  return (
    <section>
      <Rows
        question={nodes}
        none={say('none')}
        caption={say('nodes')}
        caption_shown
        keyOf={({ name }) => name}
        columns={NODE_COLUMNS()}
      />
      <p class="actions">
        <button type="button" class="small" onClick={() => void nodes.again()}>
          {say('nodes.again')}
        </button>
      </p>
    </section>
  )
}

/** As fresh as the furthest node, but for a block that is just on its way. */
const BEHIND_USUAL = 1

const NODE_COLUMNS = () => [
  { title: say('name'), cell: ({ name }: Node) => <code>{name}</code> },
  { title: say('nodes.says'), cell: (node: Node) => <WhatItSays {...node} /> },
  {
    title: say('chain.head'),
    is_figure: true,
    cell: ({ head_number }: Node) => (head_number === null ? '' : count(head_number)),
  },
  {
    title: say('chain.solid'),
    is_figure: true,
    cell: ({ solid_number }: Node) => (solid_number === null ? '' : count(solid_number)),
  },
  {
    title: say('nodes.answered'),
    is_figure: true,
    cell: ({ answered_ms: n }: Node) => (n === null ? '' : say('time.ms', { n })),
  },
]

function WhatItSays({ error, behind_blocks, head_time }: Node) {
  if (behind_blocks === null)
    return (
      <>
        <Shape mark="failed" /> <span lang="en">{error}</span>
      </>
    )
  return (
    <>
      <Shape mark={behind_blocks > BEHIND_USUAL ? 'look' : 'done'} />{' '}
      {say('nodes.behind', { n: behind_blocks })}, <Time at={head_time!} relative />
    </>
  )
}
