// The queue of cases: what officers look into, those that are not closed first.

import { useLocation } from 'preact-iso/router'
import { Export, pagesAfter } from '../../shared/files/export.tsx'
import { Address, shortText } from '../../shared/parts/address.tsx'
import { Block } from '../../shared/parts/block.tsx'
import { type Mark, State } from '../../shared/parts/state.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/console.ts'
import { say } from '../../shared/words/words.ts'
import { type Row, run, useRun } from '../calls/calls.ts'
import { Rows } from '../calls/rows.tsx'

type Case = Row<'aml cases list'>

const LIMIT = 25
const VIEWS = ['all', 'open', 'late', 'closed'] as const
type View = (typeof VIEWS)[number]

const MARKS: Record<string, Mark> = {
  open: 'look',
  assigned: 'busy',
  waiting: 'waiting',
  escalated: 'look',
  closed: 'done',
}

export const CaseState = ({ state }: { state: string }) => (
  <State state={state} mark={MARKS[state] ?? 'unknown'} />
)

const titleOf = (view: View) =>
  ({
    all: say('cases.all'),
    open: say('cases.open'),
    late: say('cases.late'),
    closed: say('cases.closed'),
  })[view]

const hrefOf = (view: View) => `${path.screening}?cases=${view}`

export function Cases() {
  const { cases: wanted, cases_before: before } = useLocation().query
  const view = VIEWS.find((one) => one === wanted) ?? 'all'
  const filter =
    view === 'all' ? {} : view === 'late' ? { late: true } : { state: view as 'open' | 'closed' }
  const cases = useRun(
    'aml cases list',
    { ...filter, limit: LIMIT, ...(before && { before }) },
    { patch: (known, { type }) => (type.startsWith('case.') ? 'again' : known) },
  )
  const rows = cases.answer.value ?? []
  return (
    <Block
      title={say('cases')}
      why={say('cases.why')}
      action={
        <Export
          name="cases"
          pages={(limit) =>
            pagesAfter<Case>(limit, (last) =>
              run('aml cases list', { ...filter, limit, ...(last && { before: last.id }) }),
            )
          }
        />
      }
    >
      <p class="actions">
        {VIEWS.filter((one) => one !== view).map((one) => (
          <a key={one} href={hrefOf(one)}>
            {titleOf(one)}
          </a>
        ))}
      </p>
      <Rows
        question={cases}
        none={say('cases.none')}
        caption={titleOf(view)}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => path.case(id)}
        columns={CASE_COLUMNS()}
      />
      {rows.length === LIMIT && (
        <p class="pager">
          <a href={`${hrefOf(view)}&cases_before=${rows.at(-1)!.id}`}>{say('list.older')}</a>
        </p>
      )}
    </Block>
  )
}

const CASE_COLUMNS = () => [
  {
    title: say('case'),
    cell: ({ id }: Case) => (
      <a href={path.case(id)}>
        <code>{shortText(id)}</code>
      </a>
    ),
  },
  { title: say('address'), cell: ({ address }: Case) => <Address address={address} /> },
  { title: say('state'), cell: ({ state }: Case) => <CaseState state={state} /> },
  { title: say('case.priority'), cell: ({ priority }: Case) => priority },
  { title: say('case.owner'), cell: ({ owner }: Case) => owner ?? '' },
  {
    title: say('case.due'),
    cell: ({ state, code, due_at }: Case) =>
      state === 'closed' ? (code ?? '') : <Time at={due_at} relative />,
  },
]
