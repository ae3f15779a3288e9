// What somebody should look at: money that runs low, a webhook that fails, a deposit that is held.
// Nothing is drawn where all is well.

import { type Question, useQuestion } from '../../shared/calls/question.ts'
import { may } from '../../shared/calls/session.ts'
import { moneyText } from '../../shared/parts/money.tsx'
import { Shape } from '../../shared/parts/state.tsx'
import { timeText } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/portal.ts'
import { say } from '../../shared/words/words.ts'

type Matter = { text: string; href: string }

export function NeedsAHand({ balance }: { balance: number | undefined }) {
  const found = [useLowBalance(balance), useFailing(), useHeld()]
  // Nobody knows yet whether it is there: what stands below waits.
  if (found.includes(undefined)) return <div aria-busy="true" hidden />
  const matters = found.flatMap((some) => some ?? [])
  if (matters.length === 0) return null
  return (
    <section class="note warn attention" aria-label={say('hand')}>
      <h2 class="for-ears">{say('hand')}</h2>
      <ul>
        {matters.map(({ text, href }) => (
          <li key={text}>
            <Shape mark="look" />
            <span>{text}</span>
            <a href={href}>{say('hand.look')}</a>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** Whether there was neither an answer yet nor a fault; what goes wrong is said by the others. */
const isOpen = ({ answer, fault }: Question<unknown>): boolean =>
  answer.value === undefined && fault.value === undefined

function useLowBalance(balance: number | undefined): Matter[] | undefined {
  const settings = useQuestion('/v1/settings', {})
  if (isOpen(settings)) return undefined
  const low = settings.answer.value?.balance_low ?? null
  if (low === null || balance === undefined || balance >= low) return []
  return [{ text: say('hand.low', { sum: `${moneyText(low)} TRX` }), href: path.money }]
}

function useFailing(): Matter[] | undefined {
  const off = !may('webhooks')
  const webhooks = useQuestion(
    '/v1/webhooks/list',
    { limit: 100 },
    {
      off,
      patch: (known, { type }) => (type.startsWith('webhook.') ? 'again' : known),
    },
  )
  if (!off && isOpen(webhooks)) return undefined
  const failing = (webhooks.answer.value?.items ?? []).filter(
    ({ failing_since, state }) => failing_since !== null || state === 'disabled',
  )
  const [first] = failing
  if (!first) return []
  // Many at once are one matter.
  if (failing.length > 1)
    return [{ text: say('hand.webhooks', { n: failing.length }), href: path.webhooks }]
  const { id, url, description, failing_since } = first
  const name = description ?? new URL(url).host
  const text =
    failing_since === null
      ? say('hand.webhook_off', { name })
      : say('hand.webhook', { name, since: timeText(new Date(failing_since)) })
  return [{ text, href: path.webhook(id) }]
}

function useHeld(): Matter[] | undefined {
  const held = useQuestion(
    '/v1/deposits/list',
    { state: 'held', limit: 100 },
    { patch: (known, { type }) => (type.startsWith('deposit.') ? 'again' : known) },
  )
  if (isOpen(held)) return undefined
  const { length } = held.answer.value?.items ?? []
  return length === 0 ? [] : [{ text: say('hand.held', { n: length }), href: path.money }]
}
