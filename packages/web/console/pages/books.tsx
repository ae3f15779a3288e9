// The books: what their own check has found and since when, worked out again when somebody asks,
// and roots that somebody has noted compared.

import { useSignal } from '@preact/signals'
import { useSubmission } from '../../shared/calls/submission.ts'
import { Title } from '../../shared/frame/title.tsx'
import { Answer, FaultNote } from '../../shared/parts/answer.tsx'
import { Field, Form, Submit } from '../../shared/parts/field.tsx'
import { Shape } from '../../shared/parts/state.tsx'
import { Table } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { named, say } from '../../shared/words/words.ts'
import { type Reply, run, useRun } from '../calls/calls.ts'
import { useFigures } from '../calls/figures.ts'
import { ReasonButton } from '../calls/reason_button.tsx'

type Rule = Reply<'books check'>['rules'][number]
type Comparison = Reply<'books compare'>

export default function Books() {
  return (
    <>
      <Title title={say('books')} />
      <div class="stack">
        <Findings />
        <Check />
        <Roots />
      </div>
    </>
  )
}

/** What the check that runs by itself has found, and the way back on sale. */
function Findings() {
  const found = useRun(
    'books findings',
    { limit: 100 },
    { patch: (known, { type }) => (type === 'tick' ? 'again' : known) },
  )
  return (
    <Answer question={found} lines={3}>
      {({ checked_at, findings, listed }) => (
        <section class="panel">
          <p>
            <Shape mark={findings > 0 ? 'failed' : checked_at === null ? 'waiting' : 'done'} />{' '}
            {findings === 0 ? say('books.no_findings') : say('books.findings', { n: findings })}
            {checked_at !== null && (
              <span class="quiet">
                {' '}
                {say('books.checked')} <Time at={checked_at} relative />
              </span>
            )}
          </p>
          {listed.length > 0 && (
            <Table
              caption={say('books.found')}
              caption_shown
              keyOf={({ rule, subject, found }) => `${rule} ${subject} ${found}`}
              rows={listed}
              columns={[
                { title: say('books.rule'), cell: ({ rule }) => rule },
                { title: say('books.subject'), cell: ({ subject }) => <code>{subject}</code> },
                { title: say('books.found'), cell: ({ found }) => found },
                { title: say('since'), cell: (one) => <Time at={one.found_at} relative /> },
              ]}
            />
          )}
          <SeenTo />
        </section>
      )}
    </Answer>
  )
}

/** Puts on sale again what is off. */
function SeenTo() {
  const figures = useFigures()
  const off = figures.answer.value?.off_sale ?? []
  if (off.length === 0) return null
  return (
    <p class="actions">
      <ReasonButton
        text={say('books.seen_to')}
        words="services on"
        body={{ all: true }}
        onDone={() => void figures.again()}
      >
        <p>{say('now.off_sale', { names: off.map((one) => named('service', one)).join(', ') })}</p>
        <p>{say('sale.on.sentence')}</p>
      </ReasonButton>
    </p>
  )
}

const MARKS = { holds: 'done', broken: 'failed' } as const

function Check() {
  const rules = useSignal<Rule[] | undefined>(undefined)
  const submission = useSubmission()
  const check = () =>
    submission.run(async () => {
      rules.value = (await run('books check', {})).rules
    })
  return (
    <section class="panel">
      <p class="actions">
        <button type="button" class="main" disabled={submission.is_busy.value} onClick={check}>
          {say('books.check')}
        </button>
        {submission.is_busy.value && <span role="status">{say('books.checking')}</span>}
      </p>
      {submission.fault.value && <FaultNote fault={submission.fault.value} />}
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

function Roots() {
  const text = useSignal('')
  const compared = useSignal<Comparison | undefined>(undefined)
  const submission = useSubmission()
  const compare = () =>
    submission.run(async () => {
      compared.value = await run('books compare', { noted: text.value })
    })
  const [first] = compared.value?.differing ?? []
  return (
    <section class="panel">
      <h2>{say('books.roots')}</h2>
      <Form onSubmit={compare}>
        <Field label={say('books.noted')} hint={say('books.noted.hint')}>
          {(control) => (
            <textarea
              {...control}
              rows={4}
              value={text.value}
              onInput={({ currentTarget, inputType }) => {
                text.value = currentTarget.value
                // Nothing is left to be said after that.
                if (inputType === 'insertFromPaste') void compare()
              }}
            />
          )}
        </Field>
        {submission.fault.value && <FaultNote fault={submission.fault.value} />}
        <Submit is_busy={submission.is_busy.value}>{say('books.compare')}</Submit>
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
