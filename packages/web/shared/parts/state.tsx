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

/** What the wire calls a state, in words. */
export const State = ({ state, mark }: { state: string; mark?: Mark }) => (
  <span class="state">
    <Shape mark={mark ?? MARKS[state] ?? 'unknown'} /> {named('state', state)}
  </span>
)

/** Pictures on buttons that have no room for words. Their names are said by the buttons. */
const PATHS = {
  menu: 'M4 6h16M4 12h16M4 18h16',
  search: 'M11 4a7 7 0 1 0 0 14a7 7 0 0 0 0-14M16 16l5 5',
  person: 'M12 4a4 4 0 1 0 0 8a4 4 0 0 0 0-8M4 21c0-4 3-6 8-6s8 2 8 6',
} as const

export const Icon = ({ name }: { name: keyof typeof PATHS }) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    <path d={PATHS[name]} />
  </svg>
)
