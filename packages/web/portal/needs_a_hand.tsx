// What somebody should look at: money that runs low, a webhook that fails, a deposit that is held.
// Nothing is drawn where all is well.

import { useQuestion } from '../calls/question.ts'
import { may } from '../calls/session.ts'
import { moneyText } from '../parts/money.tsx'
import { Shape } from '../parts/state.tsx'
import { timeText } from '../parts/time.tsx'
import { path } from '../paths/portal.ts'
import { say } from '../words/words.ts'

type Matter = { text: string; href: string }

export function NeedsAHand({ balance }: { balance: number | undefined }) {
  const matters = [...useLowBalance(balance), ...useFailing(), ...useHeld()]
  if (matters.length === 0) return null
  return (
    <section class="note warn" aria-label={say('hand')}>
      <h2>{say('hand')}</h2>
      <ul>
        {matters.map(({ text, href }) => (
          <li key={text}>
            <Shape mark="look" /> {text} <a href={href}>{say('hand.look')}</a>
          </li>
        ))}
      </ul>
    </section>
  )
}

function useLowBalance(balance: number | undefined): Matter[] {
  const settings = useQuestion('/v1/settings', {})
  const low = settings.answer.value?.balance_low ?? null
  if (low === null || balance === undefined || balance >= low) return []
  return [{ text: say('hand.low', { sum: `${moneyText(low)} TRX` }), href: path.money }]
}

function useFailing(): Matter[] {
  const webhooks = useQuestion(
    '/v1/webhooks/list',
    { limit: 100 },
    {
      off: !may('webhooks'),
      patch: (known, { type }) => (type.startsWith('webhook.') ? 'again' : known),
    },
  )
  return (webhooks.answer.value?.items ?? [])
    .filter(({ failing_since, state }) => failing_since !== null || state === 'disabled')
    .map(({ id, url, description, failing_since }) => ({
      text: say('hand.webhook', {
        name: description ?? new URL(url).host,
        since: failing_since === null ? '' : timeText(new Date(failing_since)),
      }),
      href: path.webhook(id),
    }))
}

function useHeld(): Matter[] {
  const held = useQuestion(
    '/v1/deposits/list',
    { state: 'held', limit: 100 },
    { patch: (known, { type }) => (type.startsWith('deposit.') ? 'again' : known) },
  )
  const { length } = held.answer.value?.items ?? []
  return length === 0 ? [] : [{ text: say('hand.held', { n: length }), href: path.money }]
}
