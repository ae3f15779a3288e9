// Scores of rooms, and the scores that they must reach.

import type { Mutant } from './mutants.ts'
import type { Killer } from './trial.ts'

export type Result = {
  mutant: Mutant
  /** Why it was not tried: it means the same. */
  equivalent?: string | undefined
  /** Undefined: it has survived. */
  killer?: Killer | undefined
  /** How many tests it was shown to, of those that execute its line. */
  tests: number
  seconds: number
}

export type Score = {
  room: string
  seed: number
  count: number
  killed: number
  survived: number
  equivalents: number
  /** Killed of all but those that mean the same; 1 when there is none. */
  score: number
  /** The lowest score allowed. */
  wanted: number
}

/** Where money, keys and rights are. */
const WANTED: Readonly<Record<string, number>> = Object.fromEntries(
  [
    ...['ledger/accounts', 'market/orders', 'market/pool', 'market/subscriptions'],
    ...['treasury/deposits', 'treasury/invoices', 'treasury/corrections', 'screening/engine'],
    ...['people/sign_in', 'people/users', 'people/keys', 'chain/signing', 'chain/follow'],
  ].map((room) => [room, 0.85]),
)
const WANTED_ELSEWHERE = 0.7

export const wantedOf = (room: string) => WANTED[room] ?? WANTED_ELSEWHERE

export function scoreOf(room: string, seed: number, results: readonly Result[]): Score {
  const equivalents = results.filter(({ equivalent }) => equivalent !== undefined).length
  const killed = results.filter(({ killer }) => killer !== undefined).length
  const counted = results.length - equivalents
  return {
    room,
    seed,
    count: results.length,
    killed,
    survived: counted - killed,
    equivalents,
    score: counted === 0 ? 1 : killed / counted,
    wanted: wantedOf(room),
  }
}

const COLUMNS = ['seed', 'count', 'killed', 'survived', 'equivalents', 'score', 'wanted'] as const
const WIDTH = 12

/** The scores as a table. */
export function tableOf(scores: readonly Score[]): string {
  const width = Math.max(4, ...scores.map(({ room }) => room.length))
  const row = (room: string, cells: readonly string[]) =>
    `${room.padEnd(width)}${cells.map((cell) => cell.padStart(WIDTH)).join('')}`
  const lines = scores.map((score) =>
    row(
      score.room,
      COLUMNS.map((column) =>
        column === 'score' || column === 'wanted' ? score[column].toFixed(2) : `${score[column]}`,
      ),
    ),
  )
  return [row('room', COLUMNS), ...lines].join('\n')
}
