// How the house presents itself on all pages: name, colour, help, terms, explorer.

import { useSignal } from '@preact/signals'
import { Answer } from '../../shared/parts/answer.tsx'
import { Block } from '../../shared/parts/block.tsx'
import { TextField } from '../../shared/parts/field.tsx'
import { Facts } from '../../shared/parts/table.tsx'
import { type Key, say } from '../../shared/words/words.ts'
import { type Reply, useRun } from '../calls/calls.ts'
import { ReasonButton } from '../calls/reason_button.tsx'

const FIELDS = ['name', 'accent', 'support', 'terms_url', 'explorer'] as const
type Brand = Reply<'brand show'>

const LABELS: Record<keyof Brand, Key> = {
  name: 'brand.name',
  accent: 'brand.accent',
  support: 'brand.support',
  terms_url: 'brand.terms_url',
  explorer: 'brand.explorer',
}
const HINTS: Partial<Record<keyof Brand, Key>> = {
  accent: 'brand.accent.hint',
  support: 'brand.support.hint',
  explorer: 'brand.explorer.hint',
}

export function BrandSettings() {
  const brand = useRun('brand show', {})
  return (
    <Block
      title={say('brand')}
      why={say('brand.why')}
      action={
        brand.answer.value && (
          <ChangeBrand brand={brand.answer.value} onDone={() => void brand.again()} />
        )
      }
    >
      <Answer question={brand} lines={6}>
        {(known) => (
          <Facts
            facts={FIELDS.map((field): [string, string] => [
              say(LABELS[field]),
              known[field] ?? say('none'),
            ])}
          />
        )}
      </Answer>
    </Block>
  )
}

const textsOf = (brand: Brand) =>
  Object.fromEntries(FIELDS.map((field) => [field, brand[field] ?? ''])) as Record<
    keyof Brand,
    string
  >

function ChangeBrand({ brand, onDone }: { brand: Brand; onDone: () => void }) {
  const texts = useSignal(textsOf(brand))
  return (
    <ReasonButton text={say('brand.change')} words="brand set" body={texts.value} onDone={onDone}>
      {FIELDS.map((field) => (
        <TextField
          key={field}
          label={say(LABELS[field])}
          hint={HINTS[field] && say(HINTS[field])}
          value={texts.value[field]}
          onText={(text) => {
            texts.value = { ...texts.value, [field]: text }
          }}
        />
      ))}
    </ReasonButton>
  )
}
