// The figures of the moment: asked for once, then told with every tick.

import type { Question } from '../../shared/calls/question.ts'
import { useRun } from './calls.ts'

export type Alert = {
  alert: string
  what: string
  since: string | null
  raised_at: string
  seen_at: string | null
  seen_by: string | null
}

export type Figures = {
  at: string
  alerts: Alert[]
  off_sale: string[]
  orders_last_minute: number
  ended: number
  delivered: number
  broadcast_p50_ms: number | null
  broadcast_p95_ms: number | null
  block_p50_ms: number | null
  block_p95_ms: number | null
  pool: { resource: string; room: number; reserved: number }[]
  chain: {
    head_number: number
    solid_number: number
    behind_seconds: number
    silent_seconds: number
  } | null
  earned_today_sun: number
  orders_open: number
  deposits_held: number
  deposits_open: number
  signing_stopped: boolean
}

export const useFigures = (): Question<Figures> =>
  useRun<Figures>(
    'figures show',
    {},
    {
      patch: (known, event) => (event.type === 'tick' ? (event.data as Figures) : known),
    },
  )
