// Starts a face: its words and who is signed in are asked for at once, then it is drawn.

import { render } from 'preact'
import { useEffect } from 'preact/hooks'
import { LocationProvider } from 'preact-iso/router'
import { guardCalls } from '../calls/ask.ts'
import { watchAttendance } from '../calls/attendance.ts'
import { askAgain, startLive, stopLive } from '../calls/live.ts'
import { begin, beginning, forgetSession, session } from '../calls/session.ts'
import { startData } from '../calls/start_data.ts'
import { keepPlaces } from '../paths/places.ts'
import { speak } from '../words/words.ts'
import type { Face } from './face.ts'
import { Frame } from './frame.tsx'
import { forgetReload } from './lazy.tsx'
import { StepUp, stepUp } from './step_up.tsx'

/** By then the page has long been there, and loads what may wait. */
const SETTLED_MS = 20_000

export async function start(face: Face): Promise<void> {
  forgetReload()
  watchAttendance()
  keepPlaces()
  const { language, words } = startData()
  guardCalls({ signedOut: forgetSession, stepUp })
  // Nobody is signed in as long as nothing is answered; the frame says what is wrong.
  const begun = begin().catch(() => {})
  const answer = await fetch(words)
  speak(language, (await answer.json()) as Record<string, string>)
  await begun
  const root = document.getElementById('root')!
  root.replaceChildren()
  render(<Whole {...face} />, root)
  setTimeout(() => import('../step_up/session_end.tsx'), SETTLED_MS)
}

function Whole(face: Face) {
  const is_in = Boolean(session.value)
  useEffect(() => {
    if (is_in) {
      startLive(beginning.peek()?.event_number)
      askAgain()
    } else stopLive()
  }, [is_in])
  return (
    <LocationProvider scope={face.own_links ?? `${startData().base}/`}>
      <Frame {...face} />
      <StepUp />
    </LocationProvider>
  )
}
