// Money that came and was earned: what waits for a decision first, then what was earned, then all
// that arrived.

import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
import { say } from '../../shared/words/words.ts'
import { Deposits } from './deposits.tsx'
import { Earned } from './earned.tsx'
import { HeldDeposits } from './held.tsx'

const MoneyPage = ({ query }: PageProps) => (
  <>
    <Title title={say('money.house')} />
    <div class="stack">
      <HeldDeposits />
      <Earned />
      <Deposits query={query} />
    </div>
  </>
)
export default MoneyPage
