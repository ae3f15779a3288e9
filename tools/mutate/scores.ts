// Scores of rooms, and the scores that they must reach.

import type { Mutant } from './mutants.ts'
import type { Killer } from './recordings.ts'

export type Result = {
  mutant: Mutant
  /** Why it was not tried: it means the same. */
  equivalent?: string | undefined
  /** Undefined: no test that it was shown to has noticed it. */
  killer?: Killer | undefined
  /** How many tests it was shown to, of those that execute its line. */
  tests: number
  /** How many others there was no time for. */
  left_out: number
  seconds: number
}

export type Score = {
  room: string
  seed: number
  count: number
  killed: number
  /** No test that executes the line has noticed it. */
  survived: number
  /** Some have not noticed it, and for others there was no time. */
  not_decided: number
  equivalents: number
  /** Killed of those that were decided; 1 when there is none. */
  score: number
  /** The score if nothing notices those that were not decided. */
  at_least: number
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

/** Whether all tests that execute its line have seen it, or one has noticed it. */
export const isDecided = ({ killer, left_out }: Result) => killer !== undefined || left_out === 0

export function scoreOf(room: string, seed: number, results: readonly Result[]): Score {
  const equivalents = results.filter(({ equivalent }) => equivalent !== undefined).length
  const killed = results.filter(({ killer }) => killer !== undefined).length
  const survived = results.filter((one) => isDecided(one) && !one.killer).length - equivalents
  const decided = killed + survived
  const not_decided = results.length - equivalents - decided
  return {
    room,
    seed,
    count: results.length,
    killed,
    survived,
    not_decided,
    equivalents,
    score: share(killed, decided),
    at_least: share(killed, decided + not_decided),
    wanted: wantedOf(room),
  }
}

const share = (part: number, all: number) => (all === 0 ? 1 : part / all)

const COUNTS = ['seed', 'count', 'killed', 'survived', 'not_decided', 'equivalents'] as const
const SHARES = ['score', 'at_least', 'wanted'] as const
const WIDTH = 13

/** The scores as a table. */
export function tableOf(scores: readonly Score[]): string {
  const width = Math.max(4, ...scores.map(({ room }) => room.length))
  const row = (room: string, cells: readonly string[]) =>
    `${room.padEnd(width)}${cells.map((cell) => cell.padStart(WIDTH)).join('')}`
  const lines = scores.map((score) =>
    row(score.room, [
      ...COUNTS.map((column) => `${score[column]}`),
      ...SHARES.map((column) => score[column].toFixed(2)),
    ]),
  )
  const titles = [...COUNTS, ...SHARES].map((column) => column.replace('_', ' '))
  return [row('room', titles), ...lines].join('\n')
}
