// What a webhook is like, for the list and for its page.

import type { ComponentChildren } from 'preact'
import { LongText } from '../../shared/parts/address.tsx'
import { Shape, State } from '../../shared/parts/state.tsx'
import { Facts } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { nameText } from '../../shared/words/name.ts'
import { count, named, say } from '../../shared/words/words.ts'
import type { Webhook } from '../notices/wire.ts'

/** What it is called: its description, else where it leads. */
export const nameOf = ({ description, url }: Webhook): string => nameText(description ?? url)

export function WebhookState({ webhook }: { webhook: Webhook }) {
  const { state, reason, failing_since } = webhook
  if (state === 'on' && failing_since !== null)
    return (
      <span>
        <Shape mark="look" /> {say('webhook.failing')} <Time at={failing_since} relative />
      </span>
    )
  return (
    <>
      <State state={state} />
      {reason !== null && <p class="quiet">{named('said', reason)}</p>}
    </>
  )
}

export const typesText = ({ types }: Webhook): string =>
  types === null ? say('webhook.all_types') : types.join(', ')

type Fact = [name: string, value: ComponentChildren]

export function WebhookFacts({ webhook }: { webhook: Webhook }) {
  const { url, description, at_once, per_second, cursor, waiting, due, dead, secrets } = webhook
  return (
    <Facts
      facts={[
        [say('order.state'), <WebhookState key="state" webhook={webhook} />],
        [say('webhook.url'), <LongText key="url" text={url} what={say('webhook.url')} whole />],
        ...(description === null ? [] : [[say('webhook.description'), description] as Fact]),
        [say('webhook.types'), typesText(webhook)],
        [say('webhook.cursor'), say('webhook.cursor_now', { n: waiting, number: count(cursor) })],
        [say('webhook.due'), count(due)],
        [say('webhook.dead'), count(dead)],
        [say('webhook.at_once'), count(at_once)],
        [say('webhook.per_second'), per_second === null ? say('key.no_cap') : count(per_second)],
        [
          say('key.secrets'),
          secrets.map(({ made_at, until }) => (
            <p key={made_at}>
              <Time at={made_at} />
              {until !== null && (
                <span class="quiet">
                  {' '}
                  {say('webhook.until')} <Time at={until} relative />
                </span>
              )}
            </p>
          )),
        ],
        [say('order.created'), <Time key="created" at={webhook.created_at} />],
      ]}
    />
  )
}
