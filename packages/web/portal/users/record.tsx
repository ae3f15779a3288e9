// Who has changed what, for ever: the users and the keys of the customer.

import type { Result } from 'penstock-sdk'
import { useQuestion } from '../../shared/calls/question.ts'
import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
import { Empty } from '../../shared/parts/answer.tsx'
import { Change } from '../../shared/parts/change.tsx'
import { type FilterField, FilterForm, filterOf, List } from '../../shared/parts/list.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/portal.ts'
import { nameText } from '../../shared/words/name.ts'
import { say } from '../../shared/words/words.ts'

type Action = Result<'/v1/actions/list'>['items'][number]

const FILTERS = ['by', 'action', 'subject', 'since', 'until'] as const

export default function Record({ query }: PageProps) {
  const { by, ...rest } = filterOf(query, FILTERS)
  const [kind, id] = by?.split(':') ?? []
  const filter = { ...rest, ...(kind && id && { [`${kind}_id`]: id }) }
  const is_filtered = Object.keys(filter).length > 0
  return (
    <>
      <Title title={say('record')} section={say('settings')} />
      <FilterForm fields={useFilterFields()} filter={filterOf(query, FILTERS)} path={path.record} />
      <List<Action>
        path="/v1/actions/list"
        body={filter}
        caption={say('record')}
        keyOf={({ number }) => String(number)}
        empty={
          <Empty>
            <p>{is_filtered ? say('record.none_filtered') : say('record.none')}</p>
            {is_filtered && <a href={path.record}>{say('record.all')}</a>}
          </Empty>
        }
        columns={[
          { title: say('record.at'), cell: ({ at }) => <Time at={at} /> },
          { title: say('record.by'), cell: ({ by }) => by.name },
          { title: say('record.action'), cell: ({ action }) => <code>{action}</code> },
          { title: say('record.subject'), cell: ({ subject }) => <code>{subject}</code> },
          { title: say('settings.from'), cell: ({ ip }) => ip ?? '–' },
          { title: say('record.change'), cell: Change },
        ]}
      />
    </>
  )
}

/** Who can have done it: users, and keys. */
function useFilterFields(): FilterField[] {
  const users = useQuestion('/v1/users/list', { limit: 100 })
  const keys = useQuestion('/v1/keys/list', { limit: 100 })
  const choicesOf = (kind: string, items: readonly { id: string; name: string }[] = []) =>
    items.map(({ id, name }) => ({ value: `${kind}:${id}`, text: nameText(name) }))
  const everybody = [
    ...choicesOf('user', users.answer.value?.items),
    ...choicesOf('key', keys.answer.value?.items),
  ]
  return [
    { name: 'by', label: say('record.by'), choices: everybody },
    { name: 'action', label: say('record.action') },
    { name: 'subject', label: say('record.subject') },
    { name: 'since', label: say('filter.since'), type: 'date' },
    { name: 'until', label: say('filter.until'), type: 'date' },
  ]
}
