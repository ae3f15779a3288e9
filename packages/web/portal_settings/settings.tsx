// What one signs in with, and what the customer has set.

import { Credentials } from '../credentials/credentials.tsx'
import { Profile } from '../credentials/profile.tsx'
import { Title } from '../frame/title.tsx'
import { LowBalance } from '../portal_money/low_balance.tsx'
import { say } from '../words/words.ts'
import { Appearance } from './appearance.tsx'
import { BillingLines, EndingMinutes } from './customer_settings.tsx'
import { Sessions } from './sessions.tsx'

export default function Settings() {
  return (
    <>
      <Title title={say('settings')} />
      <div class="panels">
        <Profile />
        <Credentials />
        <LowBalance />
        <EndingMinutes />
        <BillingLines />
        <Appearance />
      </div>
      <Sessions />
    </>
  )
}
