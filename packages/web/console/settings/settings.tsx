// How one signs in at the console, who else does, and what the house has set.

import { Credentials } from '../../shared/credentials/credentials.tsx'
import { Profile } from '../../shared/credentials/profile.tsx'
import { Title } from '../../shared/frame/title.tsx'
import { Tabs } from '../../shared/parts/tabs.tsx'
import { path } from '../../shared/paths/console.ts'
import { say } from '../../shared/words/words.ts'
import { ApprovalRule, OperationProposals, Proposals } from './approvals.tsx'
import { BrandSettings } from './brand.tsx'
import { Incidents, StatusPage } from './incidents.tsx'
import { Operators } from './operators.tsx'
import { OrderEvents } from './order_events.tsx'
import { Retention } from './retention.tsx'
import { RiskTable } from './risk.tsx'
import { Sessions } from './sessions.tsx'

const You = () => (
  <div class="panels">
    <Profile />
    <Credentials />
  </div>
)

const People = () => (
  <>
    <Operators />
    <Sessions />
  </>
)

const Approvals = () => (
  <>
    <ApprovalRule />
    <Proposals />
    <OperationProposals />
  </>
)

const PublicPages = () => (
  <>
    <Incidents />
    <StatusPage />
    <BrandSettings />
  </>
)

const Data = () => (
  <>
    <OrderEvents />
    <Retention />
    <RiskTable />
  </>
)

export default function Settings() {
  return (
    <>
      <Title title={say('settings')} />
      <Tabs
        label={say('settings')}
        path={path.settings()}
        tabs={[
          { name: '', title: say('settings.you'), content: You },
          { name: 'people', title: say('settings.people'), content: People },
          { name: 'approvals', title: say('settings.approvals'), content: Approvals },
          { name: 'public', title: say('settings.public'), content: PublicPages },
          { name: 'data', title: say('settings.data'), content: Data },
        ]}
      />
    </>
  )
}
