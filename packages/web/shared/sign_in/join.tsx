// Where a link leads: it signs in at once, or it lets somebody in who then chooses how to sign in
// from now on. The token stands behind the # so that no log has it, and leaves the address.

import { useSignal } from '@preact/signals'
import { useLayoutEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { Fault, post } from '../calls/ask.ts'
import { begin } from '../calls/session.ts'
import { startData } from '../calls/start_data.ts'
import { useSubmission } from '../calls/submission.ts'
import { Title } from '../frame/title.tsx'
import { FaultNote, Skeleton } from '../parts/answer.tsx'
import { say } from '../words/words.ts'
import { InviteForm } from './invite_form.tsx'
import { type Invite, showLink } from './joining.ts'
import { RecoveryCodes } from './recovery_codes.tsx'

export default function Join() {
  const { route } = useLocation()
  const submission = useSubmission()
  const token = useSignal(location.hash.slice(1))
  const invite = useSignal<Invite | undefined>(undefined)
  const recovery_codes = useSignal<readonly string[] | undefined>(undefined)
  const enter = () => route(startData().base || '/', true)
  // Before this is painted: who looks at it, or takes a picture, would have the token as well.
  useLayoutEffect(() => {
    history.replaceState(null, '', location.pathname)
    void submission.run(async () => {
      if (token.value === '') throw new Fault({ code: 1, key: 'auth.link', error: '' })
      const shown = await showLink(token.value)
      if (shown.kind === 'invite') {
        invite.value = shown
        return
      }
      await post('/session/link', { token: token.value })
      await begin()
      enter()
    })
  }, [])
  return (
    <>
      <Title title={say('join')} />
      {submission.fault.value ? (
        <LinkRefused fault={submission.fault.value} />
      ) : recovery_codes.value ? (
        <RecoveryCodes codes={recovery_codes.value} onKept={enter} />
      ) : invite.value ? (
        <InviteForm
          token={token.value}
          invite={invite}
          onJoined={(codes) => {
            recovery_codes.value = codes
          }}
        />
      ) : (
        <Skeleton lines={4} />
      )}
    </>
  )
}

const LinkRefused = ({ fault }: { fault: Fault }) => (
  <div class="stack narrow">
    <FaultNote fault={fault} />
    <p>{say('join.new_link')}</p>
    <p>
      <a href={startData().base || '/'}>{say('sign_in')}</a>
    </p>
  </div>
)
