// Where a link leads: it signs in at once, or it lets somebody in who then chooses how to sign in
// from now on. The token stands behind the # so that no log has it, and leaves the address.

import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { Fault, post } from '../calls/ask.ts'
import { useDoing } from '../calls/doing.ts'
import { begin } from '../calls/session.ts'
import { startData } from '../calls/start_data.ts'
import { Title } from '../frame/title.tsx'
import { FaultNote, Skeleton } from '../parts/answer.tsx'
import { say } from '../words/words.ts'

export default function Join() {
  const { route } = useLocation()
  const doing = useDoing()
  const token = useSignal(location.hash.slice(1))
  useEffect(() => {
    history.replaceState(null, '', location.pathname)
    void doing.run(async () => {
      if (token.value === '') throw new Fault({ code: 1, key: 'auth.link', error: '' })
      await post('/session/link', { token: token.value })
      await begin()
      route(startData().base || '/', true)
    })
  }, [])
  return (
    <>
      <Title title={say('join')} />
      {doing.fault.value ? (
        <div class="stack narrow">
          <FaultNote fault={doing.fault.value} />
          <p>{say('join.new_link')}</p>
          <p>
            <a href={startData().base || '/'}>{say('sign_in')}</a>
          </p>
        </div>
      ) : (
        <Skeleton lines={4} />
      )}
    </>
  )
}
