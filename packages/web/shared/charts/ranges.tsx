// The choice of the time that charts show.

import { useLocation } from 'preact-iso/router'
import { say } from '../words/words.ts'

export const RANGES = ['24h', '7d', '30d'] as const
export type Range = (typeof RANGES)[number]

/** The choice of the range, which stands in the address. */
export function Ranges({ range }: { range: Range }) {
  const { path, route } = useLocation()
  const words = { '24h': say('range.24h'), '7d': say('range.7d'), '30d': say('range.30d') }
  return (
    <fieldset class="segments" aria-label={say('range')}>
      {RANGES.map((one) => (
        <button
          key={one}
          type="button"
          class="small"
          aria-pressed={one === range}
          onClick={() => route(`${path}?range=${one}`, true)}
        >
          {words[one]}
        </button>
      ))}
    </fieldset>
  )
}
