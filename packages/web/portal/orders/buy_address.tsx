// What an address has now, while it is typed: whether it is active, its energy and bandwidth.

import { useQuestion } from '../../shared/calls/question.ts'
import { faultText } from '../../shared/parts/answer.tsx'
import { Shape } from '../../shared/parts/state.tsx'
import { count, say } from '../../shared/words/words.ts'

export function AddressNow({ address }: { address: string }) {
  const { answer, fault } = useQuestion('/v1/address-info', { address })
  const now = answer.value
  return (
    <p class="quiet" role="status">
      {fault.value && (
        <>
          <Shape mark="look" /> {faultText(fault.value)}
        </>
      )}
      {now && !fault.value && (
        <>
          <Shape mark="done" />{' '}
          {say('buy.address_now', {
            energy: count(now.resources.energy),
            bandwidth: count(now.resources.bandwidth),
          })}
        </>
      )}
    </p>
  )
}
