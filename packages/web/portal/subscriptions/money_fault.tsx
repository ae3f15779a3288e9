// A refusal where something is paid for: who has too little is shown where to pay more in.

import type { Fault } from '../../shared/calls/ask.ts'
import { FaultNote } from '../../shared/parts/answer.tsx'
import { path } from '../../shared/paths/portal.ts'
import { say } from '../../shared/words/words.ts'

const INSUFFICIENT_FUNDS = 6

export const MoneyFault = ({ fault }: { fault: Fault }) => (
  <>
    <FaultNote fault={fault} />
    {fault.code === INSUFFICIENT_FUNDS && (
      <p>
        <a href={path.money}>{say('deposit')}</a>
      </p>
    )}
  </>
)
