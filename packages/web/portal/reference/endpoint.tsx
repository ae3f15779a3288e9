// One endpoint: what it takes and answers, what it refuses, real examples, and a form to call it.

import './reference_words.ts'
import { useSignal } from '@preact/signals'
import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
import { Answer, Empty } from '../../shared/parts/answer.tsx'
import { ChoiceField, LinesField } from '../../shared/parts/field.tsx'
import { Table } from '../../shared/parts/table.tsx'
import { path } from '../../shared/paths/portal.ts'
import { say } from '../../shared/words/words.ts'
import { CallAsCode } from './call_as_code.tsx'
import { type Endpoint, type Refusal, type Tag, useReference } from './document.ts'
import { JsonText, Prose } from './prose.tsx'
import type { Field } from './schema.ts'
import { SendForm } from './send_form.tsx'

export default function EndpointPage({ params }: PageProps) {
  const question = useReference()
  const find = (tags: readonly Tag[]) =>
    tags.flatMap(({ endpoints }) => endpoints).find(({ name }) => name === params.name)
  const found = find(question.answer.value ?? [])
  return (
    <>
      <Title title={found?.path ?? say('reference')} section={say('reference')} />
      <p>
        <a href={path.reference()}>{say('reference.all')}</a>
      </p>
      <Answer question={question} lines={30}>
        {() =>
          found ? (
            <Described endpoint={found} />
          ) : (
            <Empty>
              <p>{say('reference.absent')}</p>
            </Empty>
          )
        }
      </Answer>
    </>
  )
}

const Described = ({ endpoint }: { endpoint: Endpoint }) => (
  <div class="stack">
    <section>
      <p>
        <Prose text={endpoint.summary} />
      </p>
      {endpoint.paragraphs.map((text) => (
        <p key={text}>
          <Prose text={text} />
        </p>
      ))}
    </section>
    <section class="panel">
      <h2>{say('reference.fields')}</h2>
      {endpoint.fields.length === 0 ? (
        <p>{say('reference.no_fields')}</p>
      ) : (
        <Fields caption={say('reference.fields')} fields={endpoint.fields} />
      )}
    </section>
    <Call endpoint={endpoint} />
    <section class="panel">
      <h2>{say('reference.result')}</h2>
      {endpoint.result_fields.length === 0 ? (
        <p>
          <code>{endpoint.result_type}</code>
        </p>
      ) : (
        <Fields caption={say('reference.result')} fields={endpoint.result_fields} />
      )}
    </section>
    <section class="panel">
      <h2>{say('reference.refusals')}</h2>
      <p>{say('reference.refusals_order')}</p>
      <Refusals refusals={endpoint.refusals} />
    </section>
  </div>
)

const Fields = ({ caption, fields }: { caption: string; fields: readonly Field[] }) => (
  <Table<Field>
    caption={caption}
    rows={fields}
    keyOf={({ name, type }) => `${name} ${type}`}
    columns={[
      { title: say('reference.field'), cell: ({ name }) => <code>{name}</code> },
      { title: say('reference.type'), cell: ({ type }) => <code>{type}</code> },
      {
        title: say('reference.required'),
        cell: ({ is_required }) => (is_required ? say('yes') : say('no')),
      },
      {
        title: say('reference.means'),
        cell: ({ description, is_deprecated }) => (
          <>
            {is_deprecated && <strong>{say('reference.deprecated')} </strong>}
            <Prose text={description} />
          </>
        ),
      },
    ]}
  />
)

type NumberedRefusal = Refusal & { number: number }

const Refusals = ({ refusals }: { refusals: readonly Refusal[] }) => (
  <Table<NumberedRefusal>
    caption={say('reference.refusals')}
    rows={refusals.map((one, i) => ({ ...one, number: i + 1 }))}
    keyOf={({ number }) => String(number)}
    columns={[
      { title: say('refusal.code'), is_figure: true, cell: ({ code }) => code },
      { title: say('reference.key'), cell: ({ key }) => <code>{key}</code> },
      { title: say('reference.when'), cell: ({ when }) => <Prose text={when} /> },
    ]}
  />
)

/** An example with what it was answered, and the call that one makes of it. */
function Call({ endpoint }: { endpoint: Endpoint }) {
  const { path, examples } = endpoint
  const chosen = useSignal(0)
  const body = useSignal(pretty(examples[0]?.body))
  const example = examples[chosen.value]
  return (
    <section class="panel">
      <h2>{say('reference.call')}</h2>
      {examples.length > 1 && (
        <ChoiceField
          label={say('reference.example')}
          value={String(chosen.value)}
          choices={examples.map(({ title }, i) => ({ value: String(i), text: title }))}
          onChoice={(value) => {
            chosen.value = Number(value)
            body.value = pretty(examples[Number(value)]?.body)
          }}
        />
      )}
      {example?.answer !== undefined && (
        <details class="code">
          <summary>{say('reference.example_answer')}</summary>
          <JsonText value={example.answer} what={say('reference.example_answer')} />
        </details>
      )}
      <LinesField
        label={say('reference.body')}
        hint={say('reference.body_hint')}
        rows={Math.min(16, body.value.split('\n').length + 1)}
        wrong={isJson(body.value) ? undefined : say('reference.not_json')}
        value={body.value}
        onText={(text) => {
          body.value = text
        }}
      />
      <SendForm endpoint={endpoint} body={body.value} is_json={isJson(body.value)} />
      <CallAsCode path={path} body={body.value} is_json={isJson(body.value)} />
    </section>
  )
}

const pretty = (body: unknown): string => JSON.stringify(body ?? {}, null, 2)

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
