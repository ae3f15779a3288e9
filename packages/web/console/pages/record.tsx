// What operators have changed, and whether the record is whole: each sum is worked out here again,
// of the sum before it and the text.

import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { Title } from '../../shared/frame/title.tsx'
import { Answer } from '../../shared/parts/answer.tsx'
import { FilterForm, filterOf } from '../../shared/parts/list.tsx'
import { Shape } from '../../shared/parts/state.tsx'
import { Table } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/console.ts'
import { count, say } from '../../shared/words/words.ts'
import { type Row, useRun } from '../calls/calls.ts'

type Action = Row<'actions list'>
type Proof = Row<'actions prove'>

const LIMIT = 25

export default function Record() {
  const { query } = useLocation()
  const filter = filterOf(query, ['made_by'])
  const page = { limit: LIMIT, ...(query.before && { before: Number(query.before) }) }
  const fields = [{ name: 'made_by', label: say('record.by') }]
  const actions = useRun('actions list', { ...page, ...filter })
  const older = (rows: readonly Action[]) =>
    new URLSearchParams({ ...filter, before: String(rows.at(-1)!.number) })
  const proofs = useRun('actions prove', page)
  return (
    <>
      <Title title={say('record')} />
      <FilterForm fields={fields} filter={filter} path={path.record} />
      {filter.made_by === undefined && (
        <Answer question={proofs} lines={1}>
          {(rows) => <Verdict proofs={rows} actions={actions.answer.value ?? []} />}
        </Answer>
      )}
      <Answer question={actions} lines={12}>
        {(rows) => (
          <>
            <Table
              caption={say('record')}
              keyOf={({ number }) => String(number)}
              rows={rows}
              columns={COLUMNS()}
            />
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

const COLUMNS = () => [
  { title: say('number'), cell: ({ number }: Action) => count(number), is_figure: true },
  { title: say('time'), cell: ({ made_at }: Action) => <Time at={made_at} /> },
  { title: say('by'), cell: ({ made_by }: Action) => made_by },
  { title: say('record.what'), cell: ({ action, subject }: Action) => `${action}: ${subject}` },
  { title: say('before'), cell: ({ before }: Action) => <Document value={before} /> },
  { title: say('after'), cell: ({ after }: Action) => <Document value={after} /> },
  { title: say('why'), cell: ({ reason }: Action) => reason ?? '' },
]

const Document = ({ value }: { value: unknown }) =>
  value === null ? null : <code>{JSON.stringify(value)}</code>

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
