// A month of the house on one page, to read and to print: each account at its beginning and its
// end, and revenue by day.

import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
import { Answer } from '../../shared/parts/answer.tsx'
import { FilterForm } from '../../shared/parts/list.tsx'
import { Money } from '../../shared/parts/money.tsx'
import { Table } from '../../shared/parts/table.tsx'
import { path } from '../../shared/paths/console.ts'
import { named, nameIfKnown, say, spokenLanguage } from '../../shared/words/words.ts'
import { type Reply, trx, useRun } from '../calls/calls.ts'

type Sheet = Reply<'accounts show'>

const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/
const MONTHS = 24

/** The last two years, the newest first. */
function monthOptions(): { value: string; text: string }[] {
  const now = new Date()
  return Array.from({ length: MONTHS }, (_, i) => {
    const at = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - i, 1))
    return { value: at.toISOString().slice(0, 7), text: monthText(at) }
  })
}

const monthText = (at: Date): string =>
  new Intl.DateTimeFormat(spokenLanguage(), {
    month: 'long',
    year: 'numeric',
    timeZone: 'UTC',
  }).format(at)

export default function MonthPage({ query }: PageProps) {
  const options = monthOptions()
  const chosen = query.month !== undefined && MONTH.test(query.month) ? query.month : undefined
  const month = chosen ?? options[0]!.value
  const sheet = useRun('accounts show', { month })
  return (
    <>
      <Title title={say('month')} section={say('section.finance')}>
        <button type="button" class="main" onClick={() => print()}>
          {say('month.print')}
        </button>
      </Title>
      <FilterForm
        fields={[{ name: 'month', label: say('month'), choices: options }]}
        filter={chosen === undefined ? {} : { month: chosen }}
        path={path.month}
      />
      <Answer question={sheet} lines={12}>
        {(known) => (
          <div class="stack">
            <h2>{monthText(new Date(`${known.month}-01T00:00:00Z`))}</h2>
            <p class="quiet">{say('month.sentence')}</p>
            <Accounts {...known} />
            <Revenue {...known} />
          </div>
        )}
      </Answer>
    </>
  )
}

const money = (sun: number) => <Money trx={trx(sun)} />

const Accounts = ({ accounts }: Sheet) =>
  accounts.length === 0 ? (
    <p>{say('month.none')}</p>
  ) : (
    <Table
      caption={say('month.accounts')}
      caption_shown
      keyOf={({ account }) => account}
      rows={accounts}
      columns={[
        { title: say('month.account'), cell: ({ account }) => named('ledger', account) },
        {
          title: say('month.opening'),
          is_figure: true,
          cell: ({ opening_sun }) => money(opening_sun),
        },
        {
          title: say('month.change'),
          is_figure: true,
          cell: ({ change_sun }) => money(change_sun),
        },
        {
          title: say('month.closing'),
          is_figure: true,
          cell: ({ closing_sun }) => money(closing_sun),
        },
      ]}
    />
  )

const serviceText = (service: string) =>
  nameIfKnown('service', service) ?? named('purpose', service)

const Revenue = ({ revenue }: Sheet) =>
  revenue.length === 0 ? null : (
    <Table
      caption={say('month.revenue')}
      caption_shown
      keyOf={({ day, service }) => `${day} ${service}`}
      rows={revenue}
      columns={[
        { title: say('month.day'), cell: ({ day }) => day },
        { title: say('service'), cell: ({ service }) => serviceText(service) },
        { title: say('month.revenue'), is_figure: true, cell: ({ sun }) => money(sun) },
      ]}
    />
  )
