// Where a customer wants to be told of events.

import { FilteredList } from '../../shared/files/filtered_list.tsx'
import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
import { Empty } from '../../shared/parts/answer.tsx'
import { useTask } from '../../shared/parts/dialog.tsx'
import { namedChoices } from '../../shared/parts/field.tsx'
import type { FilterField } from '../../shared/parts/list.tsx'
import type { Column } from '../../shared/parts/table.tsx'
import { path } from '../../shared/paths/portal.ts'
import { count, say } from '../../shared/words/words.ts'
import type { Webhook } from '../notices/wire.ts'
import { NewWebhook } from './new_webhook.tsx'
import { Receivers } from './receivers.tsx'
import { nameOf, typesText, WebhookState } from './webhook_facts.tsx'

const STATES = ['on', 'off', 'disabled'] as const

const filterFields = (): FilterField[] => [
  {
    name: 'state',
    label: say('order.state'),
    choices: namedChoices('state', STATES),
  },
]

export default function Webhooks({ query }: PageProps) {
  const { task, version, begin, on } = useTask<'new'>()
  return (
    <>
      <Title title={say('webhooks')} section={say('developers')}>
        <button type="button" class="main" onClick={() => begin('new')}>
          {say('webhook.new')}
        </button>
      </Title>
      <div class="stack">
        <FilteredList<Webhook>
          path="/v1/webhooks/list"
          address={path.webhooks}
          query={query}
          fields={filterFields()}
          file="webhooks"
          caption={say('webhooks')}
          columns={COLUMNS()}
          keyOf={({ id }) => id}
          isStale={({ type }) => type.startsWith('webhook.')}
          version={version}
          none={
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
