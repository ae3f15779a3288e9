// Every endpoint of the API, by what it is about.

import './reference_words.ts'
import { useSignal } from '@preact/signals'
import { useLocation } from 'preact-iso/router'
import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
import { Answer, Empty } from '../../shared/parts/answer.tsx'
import { TextField } from '../../shared/parts/field.tsx'
import { Table } from '../../shared/parts/table.tsx'
import { path } from '../../shared/paths/portal.ts'
import { say } from '../../shared/words/words.ts'
import { type Endpoint, type Tag, useReference } from './document.ts'
import { Prose } from './prose.tsx'

export default function Reference({ query }: PageProps) {
  const { route } = useLocation()
  const question = useReference()
  const filter = useSignal(query.q ?? '')
  const setFilter = (text: string) => {
    filter.value = text
    route(path.reference(text), true)
  }
  return (
    <>
      <Title title={say('reference')} section={say('developers')} />
      <p>{say('reference.sentence')}</p>
      <p>
        <a href="/docs/refusals">{say('reference.codes')}</a> ·{' '}
        <a href="/openapi.json">OpenAPI 3.1</a> · <a href="/openapi-3.0.json">OpenAPI 3.0</a>
      </p>
      <div class="filters">
        <TextField label={say('reference.filter')} value={filter.value} onText={setFilter} />
      </div>
      <Answer question={question} lines={30}>
        {(tags) => <Tags tags={tags} filter={filter.value.trim().toLowerCase()} />}
      </Answer>
    </>
  )
}

function Tags({ tags, filter }: { tags: readonly Tag[]; filter: string }) {
  const found = tags
    .map((tag) => ({ ...tag, endpoints: tag.endpoints.filter((one) => fits(one, filter)) }))
    .filter(({ endpoints }) => endpoints.length > 0)
  if (found.length === 0)
    return (
      <Empty>
        <p>{say('reference.none')}</p>
      </Empty>
    )
  return (
    <div class="stack">
      {found.map(({ name, description, endpoints }) => (
        <section key={name} class="panel">
          <h2 lang="en">{name}</h2>
          <p class="quiet" lang="en">
            {description}
          </p>
          <Table<Endpoint>
            caption={name}
            caption_lang="en"
            rows={endpoints}
            keyOf={({ path }) => path}
            columns={[
              { title: say('refusal.path'), cell: PathLink },
              {
                title: say('reference.does'),
                cell: ({ summary }) => <Prose text={summary} />,
              },
            ]}
          />
        </section>
      ))}
    </div>
  )
}

const fits = ({ path, summary }: Endpoint, filter: string): boolean =>
  `${path} ${summary}`.toLowerCase().includes(filter)

const PathLink = (endpoint: Endpoint) => (
  <a href={path.endpoint(endpoint.name)}>
    <code>{endpoint.path}</code>
  </a>
)
