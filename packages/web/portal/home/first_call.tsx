// How to begin: money, a key, a first call, a first order, each ticked off when it is there.

import { useQuestion } from '../../shared/calls/question.ts'
import { may } from '../../shared/calls/session.ts'
import { CodeSamples } from '../../shared/parts/code.tsx'
import { Shape } from '../../shared/parts/state.tsx'
import { path } from '../../shared/paths/portal.ts'
import { say } from '../../shared/words/words.ts'

export function FirstCall() {
  const balance = useQuestion(
    '/v1/balance',
    {},
    { patch: (known, { type }) => (type.startsWith('deposit.') ? 'again' : known) },
  )
  const keys = useQuestion(
    '/v1/keys/list',
    { limit: 100 },
    {
      off: !may('manage'),
      patch: (known, { type }) => (type.startsWith('key.') ? 'again' : known),
    },
  )
  const items = keys.answer.value?.items ?? []
  const has_called = items.some(({ last_used_at }) => last_used_at !== null)
  const usable = items.filter(({ revoked_at }) => revoked_at === null)
  const needs_second = usable.length > 0 && usable.every(({ require_v2 }) => require_v2)
  return (
    <section class="panel" aria-labelledby="first">
      <h2 id="first">{say('first.title')}</h2>
      <p class="quiet">{say('first.sentence')}</p>
      <ol class="steps">
        <li>
          <Shape mark={(balance.answer.value?.balance ?? 0) > 0 ? 'done' : 'waiting'} />{' '}
          <a href={path.money}>{say('first.deposit')}</a>
        </li>
        <li>
          <Shape mark={items.length > 0 ? 'done' : 'waiting'} />{' '}
          <a href={path.keys}>{say('first.key')}</a>
        </li>
        <li>
          <Shape mark={has_called ? 'done' : 'waiting'} /> {say('first.call')}
        </li>
        <li>
          <Shape mark="waiting" /> <a href={path.buy}>{say('first.order')}</a>
        </li>
      </ol>
      <CodeSamples
        title={say('first')}
        call={{ path: '/v1/balance', body: {}, second_signature: needs_second }}
        sdk="penstock.balance.get()"
        cli="penstock login && penstock balance"
      />
    </section>
  )
}
