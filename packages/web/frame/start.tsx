// Starts a face: its words and who is signed in are asked for at once, then it is drawn.

import { render } from 'preact'
import { useEffect } from 'preact/hooks'
import { LocationProvider } from 'preact-iso/router'
import { guardCalls } from '../calls/ask.ts'
import { startLive, stopLive } from '../calls/live.ts'
import { begin, forgetSession, session } from '../calls/session.ts'
import { startData } from '../calls/start_data.ts'
import { speak } from '../words/words.ts'
import type { Face } from './face.ts'
import { Frame } from './frame.tsx'
import { forgetReload } from './reload.ts'
import { StepUp, stepUp } from './step_up.tsx'

export async function start(face: Face): Promise<void> {
  forgetReload()
  const { language, words } = startData()
  guardCalls({ signedOut: forgetSession, stepUp })
  // Nobody is signed in as long as nothing is answered; the frame says what is wrong.
  const beginning = begin().catch(() => {})
  const answer = await fetch(words)
  speak(language, (await answer.json()) as Record<string, string>)
  await beginning
  const root = document.getElementById('root')!
  root.replaceChildren()
  render(<Whole {...face} />, root)
}

function Whole(face: Face) {
  const is_in = Boolean(session.value)
  useEffect(() => {
    if (is_in) startLive()
    else stopLive()
  }, [is_in])
  return (
    <LocationProvider scope={`${startData().base}/`}>
      <Frame {...face} />
      <StepUp />
    </LocationProvider>
  )
}
