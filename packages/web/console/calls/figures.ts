// The figures of the moment: asked for once, then told with every tick.

import type { Question } from '../../shared/calls/question.ts'
import { type Reply, useRun } from './calls.ts'

export type Alert = Figures['alerts'][number]

export type Figures = Reply<'figures show'>

export const useFigures = (): Question<Figures> =>
  useRun(
    'figures show',
    {},
    {
      patch: (known, event) => (event.type === 'tick' ? (event.data as Figures) : known),
    },
  )
