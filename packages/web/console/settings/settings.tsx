// How one signs in at the console, who else does, and what the house has set.

import { Credentials } from '../../shared/credentials/credentials.tsx'
import { Profile } from '../../shared/credentials/profile.tsx'
import { Title } from '../../shared/frame/title.tsx'
import { say } from '../../shared/words/words.ts'
import { ApprovalRule, Proposals } from './approvals.tsx'
import { BrandSettings } from './brand.tsx'
import { Incidents, StatusPage } from './incidents.tsx'
import { Operators } from './operators.tsx'
import { OrderEvents } from './order_events.tsx'
import { Retention } from './retention.tsx'
import { RiskTable } from './risk.tsx'
import { Sessions } from './sessions.tsx'

export default function Settings() {
  return (
    <>
      <Title title={say('settings')} />
      <div class="stack">
        <div class="panels">
          <Profile />
          <Credentials />
          <OrderEvents />
          <ApprovalRule />
          <StatusPage />
          <BrandSettings />
        </div>
        <Incidents />
        <Operators />
        <Proposals />
        <Sessions />
        <Retention />
        <RiskTable />
      </div>
    </>
  )
}
