// One answer of screening that waits for a decision: where the money is from, and what was decided
// about the address before.

import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
import { Address, LongText, shortText } from '../../shared/parts/address.tsx'
import { Answer } from '../../shared/parts/answer.tsx'
import { State } from '../../shared/parts/state.tsx'
import { Facts, Table } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/console.ts'
import { say } from '../../shared/words/words.ts'
import { type Reply, useRun } from '../calls/calls.ts'
import { Decide } from './decide.tsx'

type WholeReview = Reply<'aml reviews show'>

export default function OneReview({ params }: PageProps) {
  const id = params.id!
  const review = useRun('aml reviews show', { check: id })
  return (
    <>
      <Title title={`${say('check')} ${shortText(id)}`} section={say('screening')} />
      <Answer question={review} lines={12}>
        {(known) => (
          <div class="stack">
            <Facts facts={factsOf(known)} />
            {known.state === 'open' && <Decide {...known} onDone={() => void review.again()} />}
            <Factors {...known} />
            {known.earlier.length > 0 && <Earlier {...known} />}
          </div>
        )}
      </Answer>
    </>
  )
}

type FactRows = [string, string | preact.VNode][]

function factsOf(known: WholeReview): FactRows {
  const { state, customer_id, evidence } = known
  const mark = state === 'open' ? 'look' : 'done'
  const facts: FactRows = [
    [say('state'), <State state={state} mark={mark} />],
    [say('address'), <Address address={known.address} />],
    [say('review.score'), known.risk_score ?? ''],
    [say('review.blacklisted'), evidence?.blacklisted_by?.join(', ') || say('none')],
    [
      say('review.floors'),
      evidence?.floors?.map(({ rule, points }) => `${rule}: ${points}`).join(', ') || say('none'),
    ],
    [
      say('customer'),
      <a href={path.customer(customer_id)}>
        <code>{customer_id}</code>
      </a>,
    ],
    [say('review.opened'), <Time at={known.opened_at} relative />],
  ]
  if (known.hash !== null)
    facts.push([say('hash'), <LongText text={known.hash} what={say('hash')} />])
  return known.decision === null ? facts : [...facts, ...decisionFacts(known)]
}

const decisionFacts = (known: WholeReview): FactRows => [
  [say('review.decision'), `${known.decision} (${known.decided_by})`],
  [say('why'), known.reason ?? ''],
  [say('review.next'), known.next_check_id ?? say('none')],
]

const Factors = ({ risk_factors }: WholeReview) => (
  <Table
    caption={say('review.factors')}
    caption_shown
    keyOf={({ name }) => name}
    rows={risk_factors}
    columns={[
      { title: say('review.category'), cell: ({ label }) => label },
      { title: say('review.group'), cell: ({ group }) => group },
      {
        title: say('review.share'),
        is_figure: true,
        cell: ({ score }) => `${(100 * score).toFixed(2)} %`,
      },
    ]}
  />
)

const Earlier = ({ earlier }: WholeReview) => (
  <Table
    caption={say('review.earlier')}
    caption_shown
    keyOf={({ check_id }) => check_id}
    rows={earlier}
    columns={[
      {
        title: say('check'),
        cell: ({ check_id }) => (
          <a href={path.review(check_id)}>
            <code>{shortText(check_id)}</code>
          </a>
        ),
      },
      { title: say('review.decision'), cell: ({ decision }) => decision ?? '' },
      { title: say('by'), cell: ({ decided_by }) => decided_by ?? '' },
      { title: say('why'), cell: ({ reason }) => reason ?? '' },
    ]}
  />
)
