// Where a webhook leads and what it is told, as a form: for a new one, and for one that is changed.

import { useSignal } from '@preact/signals'
import type { Body } from 'penstock-sdk'
import { ChecksField, TextField } from '../../shared/parts/field.tsx'
import { nameIfKnown, say } from '../../shared/words/words.ts'
import { EVENT_TYPES } from '../developers/event_types.ts'
import type { Webhook } from '../notices/wire.ts'

/** What is typed. */
type WebhookText = {
  url: string
  description: string
  types: string[]
  at_once: string
  per_second: string
}

const BLANK: WebhookText = { url: '', description: '', types: [], at_once: '8', per_second: '' }

const textOf = (webhook: Webhook): WebhookText => ({
  url: webhook.url,
  description: webhook.description ?? '',
  types: webhook.types ?? [],
  at_once: String(webhook.at_once),
  per_second: webhook.per_second === null ? '' : String(webhook.per_second),
})

export type WebhookFields = {
  text: WebhookText
  set: (change: Partial<WebhookText>) => void
  wrong: Partial<Record<'url' | 'at_once' | 'per_second', string>>
  body: Body<'/v1/webhook/new'>
}

const isWithin = (text: string, most: number) =>
  /^\d{1,4}$/.test(text) && Number(text) >= 1 && Number(text) <= most

export function useWebhookFields(webhook?: Webhook): WebhookFields {
  const typed = useSignal(webhook ? textOf(webhook) : BLANK)
  const text = typed.value
  const wrong: WebhookFields['wrong'] = {}
  if (!URL.canParse(text.url.trim())) wrong.url = say('webhook.url_wrong')
  if (!isWithin(text.at_once, 16)) wrong.at_once = say('webhook.at_once_wrong')
  if (text.per_second !== '' && !isWithin(text.per_second, 1_000))
    wrong.per_second = say('webhook.per_second_wrong')
  return {
    text,
    wrong,
    set: (change) => {
      typed.value = { ...typed.value, ...change }
    },
    body: {
      url: text.url.trim(),
      description: text.description.trim(),
      types: text.types,
      at_once: Number(text.at_once),
      per_second: Number(text.per_second),
    },
  }
}

export type WebhookFieldsViewProps = { fields: WebhookFields; shows_wrong: boolean }

export function WebhookFieldsView({ fields, shows_wrong }: WebhookFieldsViewProps) {
  const { text, set, wrong } = fields
  const shown = shows_wrong ? wrong : {}
  return (
    <>
      <TextField
        label={say('webhook.url')}
        hint={say('webhook.url_hint')}
        type="url"
        value={text.url}
        wrong={shown.url}
        onText={(url) => set({ url })}
      />
      <TextField
        label={say('webhook.description')}
        value={text.description}
        spellcheck
        onText={(description) => set({ description })}
      />
      <details class="code">
        <summary>
          {text.types.length === 0
            ? say('webhook.told_all')
            : say('webhook.told_some', { n: text.types.length })}
        </summary>
        <ChecksField
          label={say('webhook.types')}
          hint={say('webhook.types_hint')}
          values={text.types}
          choices={EVENT_TYPES.map((value) => ({
            value,
            text: nameIfKnown('event', value) ? `${value}: ${nameIfKnown('event', value)}` : value,
          }))}
          onChoice={(types) => set({ types })}
        />
      </details>
      <details class="code">
        <summary>{say('webhook.pace')}</summary>
        <TextField
          label={say('webhook.at_once')}
          hint={say('webhook.at_once_wrong')}
          inputMode="numeric"
          value={text.at_once}
          wrong={shown.at_once}
          onText={(at_once) => set({ at_once: at_once.trim() })}
        />
        <TextField
          label={say('webhook.per_second')}
          hint={say('webhook.per_second_wrong')}
          inputMode="numeric"
          value={text.per_second}
          wrong={shown.per_second}
          onText={(per_second) => set({ per_second: per_second.trim() })}
        />
      </details>
    </>
  )
}
