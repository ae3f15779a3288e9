// The address of a purchase: those that one has bought for, a button that pastes, and
// what the address has now, while it is typed: whether it is active, its energy and bandwidth.

import { useQuestion } from '../../shared/calls/question.ts'
import { beginning, may } from '../../shared/calls/session.ts'
import { shortText } from '../../shared/parts/address.tsx'
import { faultText } from '../../shared/parts/answer.tsx'
import { Paste } from '../../shared/parts/field.tsx'
import { Shape } from '../../shared/parts/state.tsx'
import { count, say } from '../../shared/words/words.ts'

const KNOWN_MAX = 3

export function KnownAddresses({ onAddress }: { onAddress: (address: string) => void }) {
  const off = !may('read')
  const orders = useQuestion('/v1/transactions/list', { limit: 25 }, { off })
  // A sender may be an exchange: energy would be wasted on it. A sandbox has none.
  const is_sandbox = beginning.value?.network === 'sandbox'
  const deposits = useQuestion('/v1/deposits/list', { limit: 10 }, { off: off || !is_sandbox })
  const known = [
    ...(orders.answer.value?.items ?? []).map(({ params }) => params.address),
    ...(deposits.answer.value?.items ?? []).map(({ from_address }) => from_address),
  ]
  const addresses = [...new Set(known)].slice(0, KNOWN_MAX)
  return (
    <p class="actions">
      <Paste onText={onAddress} />
      {addresses.map((address) => (
        <button
          key={address}
          type="button"
          class="small"
          title={address}
          aria-label={say('buy.known', { address: shortText(address) })}
          onClick={() => onAddress(address)}
        >
          <code>{shortText(address)}</code>
        </button>
      ))}
    </p>
  )
}

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
