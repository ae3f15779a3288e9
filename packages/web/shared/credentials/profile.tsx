// Who is signed in, and as what.

import { session } from '../calls/session.ts'
import { nameText } from '../words/name.ts'
import { named, say } from '../words/words.ts'

export function Profile() {
  const signed_in = session.value
  if (!signed_in) return null
  const { user, customer } = signed_in
  return (
    <section class="panel">
      <h2>{say('settings.profile')}</h2>
      <dl class="facts">
        <div>
          <dt>{say('settings.name')}</dt>
          <dd>{nameText(user.name)}</dd>
        </div>
        <div>
          <dt>{say('sign_in.name')}</dt>
          <dd>{user.sign_in_name ?? say('settings.no_sign_in_name')}</dd>
        </div>
        <div>
          <dt>{say('settings.role')}</dt>
          <dd>{named('role', user.role)}</dd>
        </div>
        {customer && (
          <div>
            <dt>{say('settings.customer')}</dt>
            <dd>{nameText(customer.name)}</dd>
          </div>
        )}
      </dl>
    </section>
  )
}
