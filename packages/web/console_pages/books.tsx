// The books: worked out again when somebody asks, and roots that somebody has noted compared.

import { useSignal } from '@preact/signals'
import { useDoing } from '../calls/doing.ts'
import { run } from '../console_calls/calls.ts'
import { Title } from '../frame/title.tsx'
import { FaultNote } from '../parts/answer.tsx'
import { Field, Form, Submit } from '../parts/field.tsx'
import { Shape } from '../parts/state.tsx'
import { Table } from '../parts/table.tsx'
import { say } from '../words/words.ts'

type Rule = {
  rule: string
  says: string
  state: string
  note: string | null
  findings: { subject: string; found: string }[]
}
type Comparison = { roots_compared: number; differing: { subject: string; found: string }[] }

export default function Books() {
  return (
    <>
      <Title title={say('books')} />
      <div class="stack">
        <Check />
        <Roots />
      </div>
    </>
  )
}

const MARKS = { holds: 'done', broken: 'failed' } as const

function Check() {
  const rules = useSignal<Rule[] | undefined>(undefined)
  const doing = useDoing()
  const check = () =>
    doing.run(async () => {
      rules.value = (await run<{ rules: Rule[] }>('books check')).rules
    })
  return (
    <section>
      <p class="actions">
        <button type="button" class="main" disabled={doing.is_busy.value} onClick={check}>
          {say('books.check')}
        </button>
        {doing.is_busy.value && <span role="status">{say('books.checking')}</span>}
      </p>
      {doing.fault.value && <FaultNote fault={doing.fault.value} />}
      {rules.value && (
        <Table
          caption={say('books.rules')}
          caption_shown
          keyOf={({ rule }) => rule}
          rows={rules.value}
          columns={[
            { title: say('books.rule'), cell: ({ rule }) => rule },
            {
              title: say('state'),
              cell: ({ state }) => (
                <>
                  <Shape mark={MARKS[state as keyof typeof MARKS] ?? 'waiting'} /> {state}
                </>
              ),
            },
            { title: say('books.says'), cell: ({ says }) => says },
            {
              title: say('books.found'),
              cell: ({ findings }) =>
                findings.map(({ subject, found }) => `${subject}: ${found}`).join('; '),
            },
          ]}
        />
      )}
    </section>
  )
}

const FILE = 'roots'

function Roots() {
  const text = useSignal('')
  const compared = useSignal<Comparison | undefined>(undefined)
  const doing = useDoing()
  const compare = () =>
    doing.run(async () => {
      const files = { [FILE]: text.value }
      compared.value = await run<Comparison>('books compare', { file: FILE, files })
    })
  const [first] = compared.value?.differing ?? []
  return (
    <section>
      <h2>{say('books.roots')}</h2>
      <Form onSubmit={compare}>
        <Field label={say('books.noted')} hint={say('books.noted.hint')}>
          {(control) => (
            <textarea
              {...control}
              rows={4}
              value={text.value}
              onInput={({ currentTarget }) => {
                text.value = currentTarget.value
              }}
            />
          )}
        </Field>
        {doing.fault.value && <FaultNote fault={doing.fault.value} />}
        <Submit is_busy={doing.is_busy.value}>{say('books.compare')}</Submit>
      </Form>
      {compared.value && (
        <p role="status">
          <Shape mark={first ? 'failed' : 'done'} />{' '}
          {first
            ? `${first.subject}: ${first.found}`
            : say('books.match', { n: compared.value.roots_compared })}
        </p>
      )}
    </section>
  )
}
