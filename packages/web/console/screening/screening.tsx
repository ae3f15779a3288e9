// Screening: the answers that wait for a decision, and what all answers rest on.

import { useLocation } from 'preact-iso/router'
import { Export, pagesAfter } from '../../shared/files/export.tsx'
import { Title } from '../../shared/frame/title.tsx'
import { Address, shortText } from '../../shared/parts/address.tsx'
import { Block } from '../../shared/parts/block.tsx'
import { State } from '../../shared/parts/state.tsx'
import { Tabs } from '../../shared/parts/tabs.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/console.ts'
import { count, say } from '../../shared/words/words.ts'
import { type Row, run, useRun } from '../calls/calls.ts'
import { Rows } from '../calls/rows.tsx'
import { Cases } from './cases.tsx'
import { ChecksByDay } from './checks_by_day.tsx'
import { Decide } from './decide.tsx'
import { Index, Policy } from './index_and_policy.tsx'
import { Providers } from './providers.tsx'
import { LevelChanges, Watches } from './watches.tsx'

export type Review = Row<'aml reviews list'>

const LIMIT = 25

export default function Screening() {
  return (
    <>
      <Title title={say('screening')} />
      <Tabs
        label={say('screening')}
        path={path.screening}
        tabs={[
          { name: '', title: say('screening.queue'), content: Queue },
          { name: 'watching', title: say('screening.watching'), content: Watching },
          { name: 'basis', title: say('screening.basis'), content: Basis },
        ]}
      />
    </>
  )
}

const Queue = () => (
  <>
    <Reviews />
    <Cases />
    <Lists />
  </>
)

const Watching = () => (
  <>
    <ChecksByDay />
    <Watches />
    <LevelChanges />
  </>
)

const Basis = () => (
  <>
    <Policy />
    <Index />
    <Providers />
  </>
)

/** Those that wait, or with `?state=decided` those that waited. */
function Reviews() {
  const { state: wanted, before } = useLocation().query
  const state: 'open' | 'decided' = wanted === 'decided' ? 'decided' : 'open'
  const page = { state, limit: LIMIT, ...(before && { before }) }
  const reviews = useRun('aml reviews list', page, {
    patch: (known, { type }) => (type === 'review.opened' ? 'again' : known),
  })
  const rows = reviews.answer.value ?? []
  const is_open = state === 'open'
  return (
    <Block
      title={is_open ? say('reviews') : say('reviews.decided')}
      why={say('reviews.why')}
      action={
        <Export
          name="reviews"
          pages={(limit) =>
            pagesAfter<Review>(limit, (last) =>
              run('aml reviews list', { state, limit, ...(last && { before: last.check_id }) }),
            )
          }
        />
      }
    >
      <p class="actions">
        <a href={is_open ? `${path.screening}?state=decided` : path.screening}>
          {is_open ? say('reviews.show_decided') : say('reviews.show_open')}
        </a>
      </p>
      <Rows
        question={reviews}
        none={is_open ? say('reviews.none') : say('reviews.none_decided')}
        caption={is_open ? say('reviews') : say('reviews.decided')}
        keyOf={({ check_id }) => check_id}
        columns={[
          ...ANSWER_COLUMNS(),
          is_open
            ? {
                title: say('decide'),
                cell: (one: Review) => <Decide {...one} onDone={() => void reviews.again()} />,
              }
            : {
                title: say('why'),
                cell: ({ decision, decided_by, reason }: Review) =>
                  `${decision}: ${reason} (${decided_by})`,
              },
        ]}
      />
      {rows.length === LIMIT && (
        <p class="pager">
          <a href={`${path.screening}?state=${state}&before=${rows.at(-1)!.check_id}`}>
            {say('list.older')}
          </a>
        </p>
      )}
    </Block>
  )
}

const ANSWER_COLUMNS = () => [
  {
    title: say('check'),
    cell: ({ check_id }: Review) => (
      <a href={path.review(check_id)}>
        <code>{shortText(check_id)}</code>
      </a>
    ),
  },
  { title: say('address'), cell: ({ address }: Review) => <Address address={address} /> },
  {
    title: say('review.score'),
    is_figure: true,
    cell: ({ risk_score }: Review) => risk_score ?? '',
  },
  {
    title: say('state'),
    cell: ({ state }: Review) => <State state={state} mark={state === 'open' ? 'look' : 'done'} />,
  },
  {
    title: say('customer'),
    cell: ({ customer_id }: Review) => (
      <a href={path.customer(customer_id)}>
        <code>{shortText(customer_id)}</code>
      </a>
    ),
  },
  {
    title: say('review.opened'),
    cell: ({ opened_at }: Review) => <Time at={opened_at} relative />,
  },
]

function Lists() {
  const lists = useRun('lists list', {})
  return (
    <Block title={say('lists')} why={say('lists.why')}>
      <Rows
        question={lists}
        none={say('none')}
        caption={say('lists')}
        keyOf={({ list }) => list}
        columns={[
          {
            title: say('lists.one'),
            cell: ({ list }) => (
              <a href={path.labelList(list)}>
                <code>{list}</code>
              </a>
            ),
          },
          {
            title: say('lists.entries'),
            is_figure: true,
            cell: ({ entries }) => (entries === null ? say('lists.not_loaded') : count(entries)),
          },
          {
            title: say('lists.loaded'),
            cell: ({ loaded_at }) => (loaded_at === null ? '' : <Time at={loaded_at} relative />),
          },
          {
            title: say('lists.refresh'),
            is_figure: true,
            cell: ({ refresh_hours }) => (refresh_hours === null ? '' : count(refresh_hours)),
          },
          { title: say('lists.licence'), cell: ({ licence }) => <span lang="en">{licence}</span> },
        ]}
      />
    </Block>
  )
}
