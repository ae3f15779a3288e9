// What one signs in with, and what the customer has set.

import { Credentials } from '../../shared/credentials/credentials.tsx'
import { Profile } from '../../shared/credentials/profile.tsx'
import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
import { say } from '../../shared/words/words.ts'
import { LowBalance } from '../money/low_balance.tsx'
import { Appearance } from './appearance.tsx'
import { BillingLines, EndingMinutes } from './customer_settings.tsx'
import { Sessions } from './sessions.tsx'

export default function Settings({ query }: PageProps) {
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
      <Sessions query={query} />
    </>
  )
}
