// What a key may do, as a form: for a new one, and for one that is changed.

import { useSignal } from '@preact/signals'
import type { Body } from 'penstock-sdk'
import { session } from '../../shared/calls/session.ts'
import {
  CheckField,
  ChecksField,
  ChoiceField,
  LinesField,
  linesOf,
  TextField,
} from '../../shared/parts/field.tsx'
import { isSum } from '../../shared/parts/money.tsx'
import { named, say } from '../../shared/words/words.ts'
import type { Key } from './key.ts'
import { receiversField } from './receivers.ts'

export type Scope = Body<'/v1/key/new'>['scopes'][number]
const SCOPES: readonly Scope[] = ['read', 'buy', 'aml', 'money', 'webhooks', 'manage']

/** What is typed. */
export type KeyText = {
  name: string
  scopes: Scope[]
  networks: string
  receivers: string
  daily_cap: string
  /** A day */
  ends: string
  require_v2: boolean
  require_external_id: boolean
}

const BLANK: KeyText = {
  name: '',
  scopes: ['read', 'buy'],
  networks: '',
  receivers: '',
  daily_cap: '',
  ends: '',
  require_v2: false,
  require_external_id: false,
}

const textOf = (key: Key): KeyText => ({
  name: key.name,
  scopes: SCOPES.filter((scope) => (key.scopes ?? ['read', 'buy', 'aml']).includes(scope)),
  networks: key.networks?.join('\n') ?? '',
  receivers: key.receivers?.join('\n') ?? '',
  daily_cap: key.daily_cap === null ? '' : String(key.daily_cap),
  ends: key.ends_at?.slice(0, 10) ?? '',
  require_v2: key.require_v2,
  require_external_id: key.require_external_id,
})

export type KeyFields = {
  text: KeyText
  set: (change: Partial<KeyText>) => void
  /** What is wrong with what is typed, by field. */
  wrong: Partial<Record<'name' | 'scopes' | 'daily_cap', string>>
  body: Body<'/v1/key/new'>
}

/** Of a key that is changed, or of a new one that begins with some of it. */
export function useKeyFields(key?: Key, start: Partial<KeyText> = {}): KeyFields {
  const typed = useSignal(key ? textOf(key) : { ...BLANK, ...start })
  const text = typed.value
  const wrong: KeyFields['wrong'] = {}
  if (text.name.trim() === '') wrong.name = say('key.name_missing')
  if (text.scopes.length === 0) wrong.scopes = say('key.scopes_missing')
  if (text.daily_cap !== '' && !isSum(text.daily_cap)) wrong.daily_cap = say('wrong.sum')
  const networks = linesOf(text.networks)
  const is_same_day = key?.ends_at?.slice(0, 10) === text.ends
  return {
    text,
    wrong,
    set: (change) => {
      typed.value = { ...typed.value, ...change }
    },
    body: {
      name: text.name.trim(),
      scopes: text.scopes,
      networks: networks.length === 0 ? ['any'] : networks,
      ...receiversField(linesOf(text.receivers), key?.receivers ?? null),
      daily_cap: text.daily_cap === '' ? 'none' : Number(text.daily_cap),
      require_v2: text.require_v2,
      require_external_id: text.require_external_id,
      ends_at: text.ends === '' ? 'never' : is_same_day ? key!.ends_at! : `${text.ends}T00:00:00Z`,
    },
  }
}

export type KeyFieldsViewProps = { fields: KeyFields; shows_wrong: boolean }

export function KeyFieldsView({ fields, shows_wrong }: KeyFieldsViewProps) {
  const { text, set, wrong } = fields
  const shown = shows_wrong ? wrong : {}
  const mine = session.value?.scopes ?? []
  return (
    <>
      <TextField
        label={say('key.name')}
        value={text.name}
        wrong={shown.name}
        onText={(name) => set({ name })}
      />
      <ChecksField
        label={say('key.scopes')}
        hint={shown.scopes && <span class="wrong">{shown.scopes}</span>}
        values={text.scopes}
        choices={SCOPES.filter((scope) => mine.includes(scope)).map((value) => ({
          value,
          text: named('scope', value),
        }))}
        onChoice={(scopes) => set({ scopes: scopes as Scope[] })}
      />
      <LinesField
        label={say('key.networks')}
        hint={say('key.networks_hint')}
        value={text.networks}
        onText={(networks) => set({ networks })}
      />
      <LinesField
        label={say('key.receivers')}
        hint={say('key.receivers_hint')}
        value={text.receivers}
        onText={(receivers) => set({ receivers })}
      />
      <TextField
        label={say('key.cap')}
        hint={say('key.cap_hint')}
        inputMode="decimal"
        value={text.daily_cap}
        wrong={shown.daily_cap}
        onText={(daily_cap) => set({ daily_cap: daily_cap.trim() })}
      />
      <TextField
        label={say('key.ends')}
        hint={say('key.ends_hint')}
        type="date"
        value={text.ends}
        onText={(ends) => set({ ends })}
      />
      <SignatureFields fields={fields} />
    </>
  )
}

/** What will use the key, which says what signatures it can send, and what is left open then. */
function SignatureFields({ fields: { text, set } }: { fields: KeyFields }) {
  const user = text.require_v2 ? 'penstock' : 'client'
  return (
    <>
      <ChoiceField
        label={say('key.user')}
        hint={say(text.require_v2 ? 'key.user_penstock_hint' : 'key.user_client_hint')}
        value={user}
        choices={[
          { value: 'client', text: say('key.user_client') },
          { value: 'penstock', text: say('key.user_penstock') },
        ]}
        onChoice={(chosen) => set({ require_v2: chosen === 'penstock' })}
      />
      <CheckField
        label={say('key.require_external_id')}
        is_on={text.require_external_id}
        onCheck={(require_external_id) => set({ require_external_id })}
      />
    </>
  )
}
