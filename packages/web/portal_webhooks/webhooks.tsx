// Where a customer wants to be told of events.

import { Title } from '../frame/title.tsx'
import { Empty } from '../parts/answer.tsx'
import { useTask } from '../parts/dialog.tsx'
import { List } from '../parts/list.tsx'
import type { Column } from '../parts/table.tsx'
import { path } from '../paths/portal.ts'
import type { Webhook } from '../portal_notices/wire.ts'
import { count, say } from '../words/words.ts'
import { NewWebhook } from './new_webhook.tsx'
import { Receivers } from './receivers.tsx'
import { nameOf, typesText, WebhookState } from './webhook_facts.tsx'

export default function Webhooks() {
  const { task, version, begin, on } = useTask<'new'>()
  return (
    <>
      <Title title={say('webhooks')} section={say('developers')}>
        <button type="button" class="main" onClick={() => begin('new')}>
          {say('webhook.new')}
        </button>
      </Title>
      <div class="stack">
        <List<Webhook>
          path="/v1/webhooks/list"
          caption={say('webhooks')}
          columns={COLUMNS()}
          keyOf={({ id }) => id}
          isStale={({ type }) => type.startsWith('webhook.')}
          version={version}
          empty={
            <Empty>
              <p>{say('webhooks.none')}</p>
            </Empty>
          }
        />
        <Receivers />
      </div>
      {task && <NewWebhook {...on} />}
    </>
  )
}

const COLUMNS = (): Column<Webhook>[] => [
  {
    title: say('webhook'),
    cell: (webhook) => (
      <>
        <a href={path.webhook(webhook.id)}>{nameOf(webhook)}</a>
        {webhook.description !== null && <p class="quiet">{webhook.url}</p>}
      </>
    ),
  },
  { title: say('order.state'), cell: (webhook) => <WebhookState webhook={webhook} /> },
  { title: say('webhook.types'), cell: typesText },
  {
    title: say('webhook.waiting'),
    is_figure: true,
    cell: ({ waiting, due }) => count(waiting + due),
  },
  { title: say('webhook.dead'), is_figure: true, cell: ({ dead }) => count(dead) },
]
