// What operators have changed, and whether the record is whole: each sum is worked out here again,
// of the sum before it and the text.

import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { Export, pagesAfter } from '../../shared/files/export.tsx'
import { Title } from '../../shared/frame/title.tsx'
import { Answer, Empty } from '../../shared/parts/answer.tsx'
import { Changes } from '../../shared/parts/change.tsx'
import { type FilterField, FilterForm, filterOf } from '../../shared/parts/list.tsx'
import { Shape } from '../../shared/parts/state.tsx'
import { Table } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/console.ts'
import { deedsOf, deedText } from '../../shared/words/deeds.ts'
import { count, say } from '../../shared/words/words.ts'
import { type Body, type Row, run, useRun } from '../calls/calls.ts'

type Action = Row<'actions list'>
type Proof = Row<'actions prove'>

const LIMIT = 25
const FILTERS = ['made_by', 'action', 'subject', 'since', 'until'] as const

const filterFields = (): FilterField[] => [
  { name: 'made_by', label: say('record.by') },
  { name: 'action', label: say('record.action') },
  { name: 'subject', label: say('record.subject') },
  { name: 'since', label: say('filter.since'), type: 'date' },
  { name: 'until', label: say('filter.until'), type: 'date' },
]

export default function Record() {
  const { query } = useLocation()
  const filter = filterOf(query, FILTERS)
  const is_filtered = Object.keys(filter).length > 0
  const page = { limit: LIMIT, ...(query.before && { before: Number(query.before) }) }
  const actions = useRun('actions list', { ...page, ...filter })
  const older = (rows: readonly Action[]) =>
    new URLSearchParams({ ...filter, before: String(rows.at(-1)!.number) })
  const proofs = useRun('actions prove', page)
  return (
    <>
      <Title title={say('record')} />
      <FilterForm fields={filterFields()} filter={filter} path={path.record}>
        <Export name="record" pages={(limit) => pagesOfActions(filter, limit)} />
      </FilterForm>
      {!is_filtered && (
        <Answer question={proofs} lines={1}>
          {(rows) => <Verdict proofs={rows} actions={actions.answer.value ?? []} />}
        </Answer>
      )}
      <Answer question={actions} lines={12}>
        {(rows) => (
          <>
            {rows.length === 0 ? (
              <Empty>
                <p>{say(is_filtered ? 'record.none_filtered' : 'record.none')}</p>
              </Empty>
            ) : (
              <Table
                caption={say('record')}
                keyOf={([{ number }]) => String(number)}
                rows={deedsOf(rows, isAtOnce) as [Action, ...Action[]][]}
                columns={COLUMNS()}
              />
            )}
            {rows.length === LIMIT && (
              <p class="pager">
                <a href={`${path.record}?${older(rows)}`}>{say('list.older')}</a>
              </p>
            )}
          </>
        )}
      </Answer>
    </>
  )
}

/** Those of the filter, page after page. */
const pagesOfActions = (filter: Body<'actions list'>, limit: number) =>
  pagesAfter<Action>(limit, (last) =>
    run('actions list', { ...filter, limit, ...(last && { before: last.number }) }),
  )

/** Whether one click has made both. */
const isAtOnce = (one: Action, other: Action) =>
  one.made_at === other.made_at && one.made_by === other.made_by && one.reason === other.reason

type Deed = readonly [Action, ...Action[]]

const COLUMNS = () => [
  {
    title: say('number'),
    is_figure: true,
    cell: (deed: Deed) =>
      deed.length === 1
        ? count(deed[0].number)
        : `${count(deed.at(-1)!.number)} – ${count(deed[0].number)}`,
  },
  { title: say('time'), cell: ([{ made_at }]: Deed) => <Time at={made_at} /> },
  {
    title: say('record.what'),
    is_long: true,
    cell: (deed: Deed) => deedText(deed[0].made_by, deed),
  },
  { title: say('why'), is_long: true, cell: ([{ reason }]: Deed) => reason ?? '' },
  { title: say('record.change'), cell: (deed: Deed) => <Changes deed={deed} /> },
]

/** Whether every sum of this page is right, and is of what is shown. */
function Verdict({ proofs, actions }: { proofs: readonly Proof[]; actions: readonly Action[] }) {
  const is_whole = useSignal<boolean | undefined>(undefined)
  useEffect(() => {
    void verify(proofs, actions).then((whole) => {
      is_whole.value = whole
    })
  }, [proofs, actions])
  if (is_whole.value === undefined) return null
  return (
    <p role="status">
      <Shape mark={is_whole.value ? 'done' : 'failed'} />{' '}
      {is_whole.value ? say('record.whole', { n: proofs.length }) : say('record.broken')}
    </p>
  )
}

async function verify(proofs: readonly Proof[], actions: readonly Action[]): Promise<boolean> {
  const by_number = new Map(actions.map((action) => [action.number, action]))
  for (const [i, { number, previous_sha256, text, sha256 }] of proofs.entries()) {
    const before = proofs[i + 1]
    if (before && (before.number !== number - 1 || before.sha256 !== previous_sha256)) return false
    if ((await sha256Of(previous_sha256 + text)) !== sha256) return false
    const [said_number, , made_by, , action, subject] = JSON.parse(text) as unknown[]
    const shown = by_number.get(number)
    const fits = shown && shown.made_by === made_by && shown.action === action
    if (said_number !== number || (shown && !(fits && shown.subject === subject))) return false
  }
  return true
}

async function sha256Of(text: string): Promise<string> {
  const sum = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return Array.from(new Uint8Array(sum), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
