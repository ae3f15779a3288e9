// Times: of this browser's zone, or UTC by one switch for all of them; how long ago, beside it,
// when that is less than a day.

import { computed, signal } from '@preact/signals'
import { spokenLanguage } from '../words/words.ts'

const CHOSEN = 'penstock-utc'

/** Whether times are shown in UTC. The browser remembers it. */
export const is_utc = signal(globalThis.localStorage?.getItem(CHOSEN) === 'yes')

export function chooseUtc(is_chosen: boolean): void {
  is_utc.value = is_chosen
  if (is_chosen) localStorage.setItem(CHOSEN, 'yes')
  else localStorage.removeItem(CHOSEN)
}

const zone = computed(() => (is_utc.value ? 'UTC' : undefined))
const DAY_MS = 86_400_000

/** Moves on once a second, for what says how long ago something was. */
export const now_ms = signal(Date.now())
setInterval(() => {
  if (!document.hidden) now_ms.value = Date.now()
}, 1_000)

const formats = new Map<string, Intl.DateTimeFormat>()

function format(at: Date, options: Intl.DateTimeFormatOptions): string {
  const name = `${zone.value} ${JSON.stringify(options)}`
  const made =
    formats.get(name) ??
    new Intl.DateTimeFormat(spokenLanguage(), {
      ...options,
      ...(zone.value && { timeZone: zone.value }),
      hourCycle: 'h23',
    })
  formats.set(name, made)
  return made.format(at)
}

const DAY = { day: 'numeric', month: 'short' } as const
const CLOCK = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const

/** `14:03:22`, of today; else with its day. With milliseconds where they matter. */
export function timeText(at: Date, { milliseconds = false } = {}): string {
  const clock = milliseconds ? { ...CLOCK, fractionalSecondDigits: 3 as const } : CLOCK
  const is_today = dayText(at) === dayText(new Date(now_ms.peek()))
  if (is_today) return format(at, clock)
  const year = new Date(now_ms.peek()).getFullYear() === at.getFullYear() ? {} : YEAR
  return format(at, { ...DAY, ...year, ...clock })
}
const YEAR = { year: 'numeric' } as const

/** `14:03`, of any day. */
export const clockText = (at: Date): string => format(at, { hour: '2-digit', minute: '2-digit' })

/** `9 Jan`, with the year when it is another. */
export const dayText = (at: Date): string =>
  format(at, at.getFullYear() === new Date().getFullYear() ? DAY : { ...DAY, ...YEAR })

/** `3 minutes ago`, `in 2 hours`. */
function agoText(ms: number): string {
  const ago = new Intl.RelativeTimeFormat(spokenLanguage(), { numeric: 'auto' })
  const seconds = Math.round(-ms / 1_000)
  if (Math.abs(seconds) < 60) return ago.format(seconds, 'second')
  const minutes = Math.round(seconds / 60)
  if (Math.abs(minutes) < 60) return ago.format(minutes, 'minute')
  const hours = Math.round(minutes / 60)
  return Math.abs(hours) < 48
    ? ago.format(hours, 'hour')
    : ago.format(Math.round(hours / 24), 'day')
}

export type TimeProps = {
  at: string
  milliseconds?: boolean
  /** Says how long ago it was, while that is less than a day. */
  relative?: boolean
}

export function Time({ at, milliseconds = false, relative = false }: TimeProps) {
  const time = new Date(at)
  const ago_ms = relative ? now_ms.value - time.getTime() : DAY_MS
  const zone_name = zone.value ?? Intl.DateTimeFormat().resolvedOptions().timeZone
  return (
    <time dateTime={at} title={`${at} (${zone_name})`} class="figure">
      {timeText(time, { milliseconds })}
      {Math.abs(ago_ms) < DAY_MS && <span class="quiet"> {agoText(ago_ms)}</span>}
    </time>
  )
}
