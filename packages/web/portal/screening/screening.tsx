// Whom one deals with: a new check, the addresses that are screened again and again, and the checks
// until now.

import type { Body, Result } from 'penstock-sdk'
import { useQuestion } from '../../shared/calls/question.ts'
import { Export, pagesByNumber } from '../../shared/files/export.tsx'
import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
import { LongText } from '../../shared/parts/address.tsx'
import { Answer, Empty } from '../../shared/parts/answer.tsx'
import { namedChoices } from '../../shared/parts/field.tsx'
import {
  type FilterField,
  FilterForm,
  filterOf,
  NumberedPages,
  pageOf,
} from '../../shared/parts/list.tsx'
import { type Column, Table } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/portal.ts'
import { say } from '../../shared/words/words.ts'
import { CheckOutcome } from './level.tsx'
import { NewCheck } from './new_check.tsx'
import { Watches } from './watches.tsx'

type Check = Result<'/v1/aml-checks/history'>['items'][number]
const PER_PAGE = 25
const HISTORY = '/v1/aml-checks/history'
const STATES = ['pending', 'processing', 'completed', 'failed'] as const

const filterFields = (): FilterField[] => [
  {
    name: 'status',
    label: say('order.state'),
    choices: namedChoices('state', STATES),
  },
]

export default function Screening({ query }: PageProps) {
  const page = pageOf(query)
  const filter = filterOf(query, ['status'])
  const checks = useQuestion(
    HISTORY,
    { ...(filter as Body<typeof HISTORY>), page, per_page: PER_PAGE },
    { patch: (known, { type }) => (type.startsWith('aml_check.') ? 'again' : known) },
  )
  return (
    <>
      <Title title={say('screening')} />
      <div class="stack">
        <NewCheck />
        <section class="panel">
          <h2>{say('checks')}</h2>
          <FilterForm
            fields={filterFields()}
            filter={filter}
            path={path.screening}
            of={say('checks')}
          >
            <Export name="checks" pages={() => pagesByNumber<Check>(HISTORY, filter)} />
          </FilterForm>
          <Answer question={checks} lines={8}>
            {({ items, total }) => (
              <div>
                {items.length === 0 ? (
                  <Empty>
                    <p>{say(filter.status ? 'list.none_filtered' : 'checks.none')}</p>
                  </Empty>
                ) : (
                  <Table
                    caption={say('checks')}
                    rows={items}
                    keyOf={({ id }) => id}
                    columns={columns()}
                  />
                )}
                <NumberedPages page={page} has_older={page * PER_PAGE < total} />
              </div>
            )}
          </Answer>
        </section>
        <section class="panel">
          <h2>{say('watches')}</h2>
          <Watches query={query} />
        </section>
      </div>
    </>
  )
}

const columns = (): Column<Check>[] => [
  {
    title: say('time'),
    cell: ({ id, checked_at }) => (
      <a href={path.check(id)}>
        <Time at={checked_at} />
      </a>
    ),
  },
  {
    title: say('check.subject'),
    cell: ({ hash, address }) => (
      <LongText
        text={hash ?? address}
        what={say(hash === undefined ? 'copy.address' : 'copy.hash')}
      />
    ),
  },
  { title: say('check.network'), cell: ({ network }) => network },
  { title: say('order.state'), cell: (check) => <CheckOutcome check={check} /> },
]
