// The three decisions about an answer of screening that waits, each with its reason.

import { useSignal } from '@preact/signals'
import { Address } from '../../shared/parts/address.tsx'
import { type Key, say } from '../../shared/words/words.ts'
import { mayChange } from '../calls/calls.ts'
import { Reason } from '../calls/reason.tsx'

const DECISIONS = ['allow', 'deny', 'leave'] as const
type Decision = (typeof DECISIONS)[number]

const TITLES: Record<Decision, Key> = {
  allow: 'review.allow',
  deny: 'review.deny',
  leave: 'review.leave',
}
const MEANINGS: Record<Decision, Key> = {
  allow: 'review.allow.sentence',
  deny: 'review.deny.sentence',
  leave: 'review.leave.sentence',
}

export type DecideProps = { check_id: string; address: string; onDone: () => void }

export function Decide({ check_id, address, onDone }: DecideProps) {
  const chosen = useSignal<Decision | undefined>(undefined)
  const decision = chosen.value
  return (
    <>
      <span class="actions">
        {DECISIONS.map((one) => (
          <button
            key={one}
            type="button"
            class="small"
            disabled={!mayChange()}
            {...(!mayChange() && { title: say('role.needed') })}
            onClick={() => {
              chosen.value = one
            }}
          >
            {say(TITLES[one])}
          </button>
        ))}
      </span>
      {decision && (
        <Reason
          title={say(TITLES[decision])}
          words="aml reviews decide"
          body={{ check: check_id, decision }}
          onDone={onDone}
          onClose={() => {
            chosen.value = undefined
          }}
        >
          <p>
            <Address address={address} />
          </p>
          <p>{say(MEANINGS[decision])}</p>
        </Reason>
      )}
    </>
  )
}
