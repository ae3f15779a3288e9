// One case: what it is about, what waits in it, what can be done now, and what was done and said.

import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
import { Address, LongText, shortText } from '../../shared/parts/address.tsx'
import { Answer } from '../../shared/parts/answer.tsx'
import { Facts, Table } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/console.ts'
import { say } from '../../shared/words/words.ts'
import { type Reply, useRun } from '../calls/calls.ts'
import { CaseActions } from './case_actions.tsx'
import { CaseState } from './cases.tsx'

type WholeCase = Reply<'aml cases show'>

export default function OneCase({ params }: PageProps) {
  const id = params.id!
  const found = useRun(
    'aml cases show',
    { case: id },
    { patch: (known, { type }) => (type.startsWith('case.') ? 'again' : known) },
  )
  return (
    <>
      <Title title={`${say('case')} ${shortText(id)}`} section={say('screening')} />
      <Answer question={found} lines={12}>
        {(known) => (
          <div class="stack">
            <Facts facts={factsOf(known)} />
            <CaseActions {...known} onDone={() => void found.again()} />
            {known.reviews.length > 0 && <Reviews {...known} />}
            {known.subjects.length > 0 && <Subjects {...known} />}
            <Entries {...known} />
            {known.earlier.length > 0 && <Earlier {...known} />}
          </div>
        )}
      </Answer>
    </>
  )
}

type FactRows = [string, string | preact.VNode][]

function factsOf(known: WholeCase): FactRows {
  const facts: FactRows = [
    [say('state'), <CaseState state={known.state} />],
    [say('address'), <Address address={known.address} />],
    [say('case.priority'), known.priority],
    [say('case.level'), known.risk_level ?? say('none')],
    [say('case.owner'), known.owner ?? say('none')],
    [say('case.due'), <Time at={known.due_at} relative />],
  ]
  if (known.customer_id !== null)
    facts.push([
      say('customer'),
      <a href={path.customer(known.customer_id)}>
        <code>{known.customer_id}</code>
      </a>,
    ])
  if (known.report_reference !== null) facts.push([say('case.report'), known.report_reference])
  if (known.code !== null) facts.push([say('case.code'), `${known.code} (${known.closed_by})`])
  return facts
}

const Reviews = ({ reviews }: WholeCase) => (
  <Table
    caption={say('case.reviews')}
    caption_shown
    keyOf={({ check_id }) => check_id}
    rows={reviews}
    columns={[
      {
        title: say('check'),
        cell: ({ check_id }) => (
          <a href={path.review(check_id)}>
            <code>{shortText(check_id)}</code>
          </a>
        ),
      },
      { title: say('review.score'), is_figure: true, cell: ({ risk_score }) => risk_score },
      { title: say('review.decision'), cell: ({ decision }) => decision ?? say('none') },
      { title: say('by'), cell: ({ decided_by }) => decided_by ?? '' },
    ]}
  />
)

const Subjects = ({ subjects }: WholeCase) => (
  <Table
    caption={say('case.subjects')}
    caption_shown
    keyOf={({ kind, subject }) => `${kind} ${subject}`}
    rows={subjects}
    columns={[
      { title: say('case.kind'), cell: ({ kind }) => kind },
      {
        title: say('case.subject'),
        cell: ({ subject }) => <LongText text={subject} what={say('case.subject')} />,
      },
      { title: say('by'), cell: ({ added_by }) => added_by },
    ]}
  />
)

const Entries = ({ entries }: WholeCase) => (
  <Table
    caption={say('case.entries')}
    caption_shown
    keyOf={({ number }) => String(number)}
    rows={entries}
    columns={[
      { title: say('time'), cell: ({ at }) => <Time at={at} relative /> },
      { title: say('by'), cell: ({ made_by }) => made_by },
      { title: say('case.kind'), cell: ({ kind }) => kind },
      {
        title: say('case.text'),
        is_long: true,
        cell: ({ text, name, sha256 }) => (name === null ? text : `${name}, SHA-256 ${sha256}`),
      },
    ]}
  />
)

const Earlier = ({ earlier }: WholeCase) => (
  <Table
    caption={say('case.earlier')}
    caption_shown
    keyOf={({ id }) => id}
    rows={earlier}
    columns={[
      {
        title: say('case'),
        cell: ({ id }) => (
          <a href={path.case(id)}>
            <code>{shortText(id)}</code>
          </a>
        ),
      },
      { title: say('state'), cell: ({ state }) => <CaseState state={state} /> },
      { title: say('case.code'), cell: ({ code }) => code ?? '' },
      { title: say('since'), cell: ({ opened_at }) => <Time at={opened_at} relative /> },
    ]}
  />
)
