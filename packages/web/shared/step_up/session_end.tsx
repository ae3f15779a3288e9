// A session ends when nobody has used it for a while: it is said two minutes before, with a way to
// go on. Other pages of the same browser use it too, so the service is asked how it stands. Loaded
// when the page has been there for a while, it draws itself.

import { useSignal } from '@preact/signals'
import { render } from 'preact'
import { useEffect } from 'preact/hooks'
import { begin, clockAheadMs, session } from '../calls/session.ts'
import { timeText } from '../parts/time.tsx'
import { say } from '../words/words.ts'

const WARNED_MS = 120_000
const LOOK_MS = 20_000

/** When the session is over unless it is used, by the clock of this browser. */
function endsAt(): number {
  const { ends_at, idle_at } = session.peek() ?? {}
  if (ends_at === undefined || idle_at === undefined) return Number.POSITIVE_INFINITY
  return Math.min(Date.parse(ends_at), Date.parse(idle_at)) + clockAheadMs()
}

function SessionEnd() {
  const warned = useSignal<number | undefined>(undefined)
  const look = async () => {
    const isNear = () => endsAt() - Date.now() <= WARNED_MS
    if (isNear()) await begin().catch(() => {})
    warned.value = isNear() ? endsAt() : undefined
  }
  useEffect(() => {
    const timer = setInterval(look, LOOK_MS)
    void look()
    return () => clearInterval(timer)
  }, [])
  if (!session.value || warned.value === undefined) return null
  const at = timeText(new Date(warned.value))
  const { ends_at, idle_at } = session.value
  const can_go_on = Date.parse(idle_at) < Date.parse(ends_at)
  return (
    <section class="session-end note warn" role="alert" aria-label={say('session.end')}>
      <p>{can_go_on ? say('session.idle', { at }) : say('session.over', { at })}</p>
      {can_go_on && (
        <button type="button" onClick={look}>
          {say('session.extend')}
        </button>
      )}
    </section>
  )
}

render(<SessionEnd />, document.body.appendChild(document.createElement('div')))
