// A state: a word with a shape and a colour, never the colour alone.

import { named } from '../words/words.ts'

/** done, under way, look at it, failed, not yet, not known */
export type Mark = 'done' | 'busy' | 'look' | 'failed' | 'waiting' | 'unknown'

const SHAPES: Record<Mark, string> = {
  done: '●',
  busy: '◐',
  look: '▲',
  failed: '■',
  waiting: '○',
  unknown: '◇',
}

/** The shape alone, for what says its word beside it. */
export const Shape = ({ mark }: { mark: Mark }) => (
  <span class={`mark ${mark}`} aria-hidden="true">
    {SHAPES[mark]}
  </span>
)

const MARKS: Readonly<Record<string, Mark>> = {
  success: 'done',
  delivered: 'done',
  solid: 'done',
  ended: 'done',
  credited: 'done',
  completed: 'done',
  active: 'done',
  on: 'done',
  open: 'busy',
  new: 'busy',
  pending: 'busy',
  processing: 'busy',
  due: 'busy',
  seen: 'busy',
  signed: 'busy',
  sent: 'busy',
  included: 'busy',
  held: 'look',
  suspended: 'look',
  disabled: 'look',
  dead: 'failed',
  failed: 'failed',
  off: 'waiting',
  invited: 'waiting',
  closed: 'waiting',
  passed: 'waiting',
  stopped: 'waiting',
  expired: 'waiting',
  revoked: 'waiting',
}

/** What the wire calls a state, in words; on a ground of its own beside a heading. */
export const State = ({ state, mark, pill }: { state: string; mark?: Mark; pill?: boolean }) => (
  <span class={pill ? 'state pill' : 'state'}>
    <Shape mark={mark ?? MARKS[state] ?? 'unknown'} /> {named('state', state)}
  </span>
)
