// Who has changed what, for ever: the users and the keys of the customer.

import type { Result } from 'penstock-sdk'
import { useQuestion } from '../../shared/calls/question.ts'
import { FilteredList } from '../../shared/files/filtered_list.tsx'
import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
import { Empty } from '../../shared/parts/answer.tsx'
import { Changes } from '../../shared/parts/change.tsx'
import type { FilterField } from '../../shared/parts/list.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/portal.ts'
import { deedText } from '../../shared/words/deeds.ts'
import { nameText } from '../../shared/words/name.ts'
import { say } from '../../shared/words/words.ts'

type Action = Result<'/v1/actions/list'>['items'][number]

export default function Record({ query }: PageProps) {
  return (
    <>
      <Title title={say('record')} section={say('settings')} />
      <FilteredList<Action>
        path="/v1/actions/list"
        address={path.record}
        query={query}
        fields={useFilterFields()}
        bodyOf={bodyOf}
        file="record"
        caption={say('record')}
        keyOf={({ number }) => String(number)}
        none={
          <Empty>
            <p>{say('record.none')}</p>
          </Empty>
        }
        none_filtered={say('record.none_filtered')}
        columns={[
          { title: say('record.at'), cell: ({ at }) => <Time at={at} /> },
          {
            title: say('record.action'),
            is_long: true,
            cell: (action) => deedText(action.by.name, [action]),
          },
          { title: say('record.subject'), cell: ({ subject }) => <code>{subject}</code> },
          { title: say('settings.from'), cell: ({ ip }) => ip ?? '–' },
          { title: say('record.change'), cell: (action) => <Changes deed={[action]} /> },
        ]}
      />
    </>
  )
}

/** A user and a key are two fields of the wire. */
function bodyOf({ by = '', ...rest }: Readonly<Record<string, string>>) {
  const [kind, id] = by.split(':')
  return { ...rest, ...(kind && id && { [`${kind}_id`]: id }) }
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
