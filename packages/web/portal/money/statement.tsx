// Every entry of the account in a month or a free period, to read, to print and to take along.

import { useSignal } from '@preact/signals'
import type { Result } from 'penstock-sdk'
import { useLocation } from 'preact-iso/router'
import { useQuestion } from '../../shared/calls/question.ts'
import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
import { OwnId } from '../../shared/parts/address.tsx'
import { Answer, Empty } from '../../shared/parts/answer.tsx'
import { ChoiceField, TextField } from '../../shared/parts/field.tsx'
import { List } from '../../shared/parts/list.tsx'
import { Money } from '../../shared/parts/money.tsx'
import { type Column, Facts } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/portal.ts'
import { named, say } from '../../shared/words/words.ts'
import { chosenPeriod, monthChoices, type Period, periodOfMonth } from './period.ts'
import { StatementCsv } from './statement_csv.tsx'

type Entry = Result<'/v1/statement'>['items'][number]
/** As many as the wire gives at once: a usual month is printed whole. */
const LIMIT = 1_000

export default function Statement({ query }: PageProps) {
  const { month, ...period } = chosenPeriod(query)
  return (
    <>
      <Title title={say('statement')} section={say('money')} />
      <PeriodForm key={JSON.stringify(period)} month={month} period={period} />
      <div class="stack">
        <Borders period={period} />
        <StatementCsv period={period} name={month || 'period'} />
        <div>
          <List<Entry>
            path="/v1/statement"
            body={period}
            limit={LIMIT}
            caption={say('statement')}
            columns={columns()}
            keyOf={({ id }) => id}
            empty={
              <Empty>
                <p>{say('statement.none')}</p>
              </Empty>
            }
          />
        </div>
      </div>
    </>
  )
}

function PeriodForm({ month, period }: { month: string; period: Period }) {
  const { route } = useLocation()
  const typed = useSignal(period)
  const go = (to: Record<string, string>) => route(`${path.statement}?${new URLSearchParams(to)}`)
  const [this_month] = monthChoices()
  return (
    <form
      class="filters"
      aria-label={say('statement.period')}
      onSubmit={(event) => {
        event.preventDefault()
        go(typed.value)
      }}
    >
      <ChoiceField
        label={say('statement.month')}
        value={month}
        choices={[...monthChoices(), { value: '', text: say('statement.free') }]}
        onChoice={(value) =>
          go(value === '' ? periodOfMonth(month || this_month!.value) : { month: value })
        }
      />
      {month === '' && (
        <>
          {(['since', 'until'] as const).map((name) => (
            <TextField
              key={name}
              type="date"
              label={name === 'since' ? say('filter.since') : say('filter.until')}
              value={typed.value[name] ?? ''}
              onText={(text) => {
                typed.value = { ...typed.value, [name]: text }
              }}
            />
          ))}
          <button type="submit">{say('statement.show')}</button>
        </>
      )}
    </form>
  )
}

/** What was there before the first entry, and after the last. */
function Borders({ period }: { period: Period }) {
  const question = useQuestion('/v1/statement', { ...period, limit: 1 })
  return (
    <Answer question={question} lines={2}>
      {({ opening, closing }) => (
        <Facts
          facts={[
            [say('statement.opening'), <Money key="opening" trx={opening.balance} />],
            [say('statement.closing'), <Money key="closing" trx={closing.balance} />],
            [say('entry.spendable'), <Money key="spendable" trx={closing.spendable} />],
          ]}
        />
      )}
    </Answer>
  )
}

const columns = (): Column<Entry>[] => [
  { title: say('time'), cell: ({ at }) => <Time at={at} /> },
  { title: say('entry.kind'), cell: ({ kind }) => named('entry', kind) },
  { title: say('statement.for'), cell: (entry) => <Purpose purpose={entry.for} /> },
  {
    title: say('order.external_id'),
    cell: ({ for: { external_id } }) => external_id !== null && <OwnId id={external_id} />,
  },
  {
    title: say('entry.amount'),
    is_figure: true,
    cell: ({ amount }) => <Money trx={amount} sign />,
  },
  { title: say('entry.held'), is_figure: true, cell: ({ held }) => <Money trx={held} sign /> },
  {
    title: say('statement.balance'),
    is_figure: true,
    cell: ({ balance }) => <Money trx={balance} />,
  },
  {
    title: say('entry.spendable'),
    is_figure: true,
    cell: ({ spendable }) => <Money trx={spendable} />,
  },
]

/** What an entry was for, as a link where there is a page for it. */
function Purpose({ purpose }: { purpose: Entry['for'] }) {
  const { what, id, service } = purpose
  const text = service === null ? named('purpose', what) : named('service', service)
  if (what === 'order') return <a href={path.order(id)}>{text}</a>
  return what === 'deposit' ? <a href={path.money}>{text}</a> : <span title={id}>{text}</span>
}
