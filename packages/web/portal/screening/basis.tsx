// What a check was made from, and what it does not say: a reader might take it for granted.

import { Table } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { count, say } from '../../shared/words/words.ts'
import type { Evidence } from './evidence.ts'

/** Others were asked, and say nothing of it. */
const isOurs = ({ index }: Evidence) => index.last_block !== ''

export function ListsAsked(evidence: Evidence) {
  const { lists } = evidence
  if (!isOurs(evidence)) return null
  if (lists.length === 0) return <p>{say('check.no_lists')}</p>
  return (
    <Table
      caption={say('check.lists')}
      caption_shown
      rows={lists}
      keyOf={({ list, sha256 }) => `${list} ${sha256}`}
      columns={[
        { title: say('check.list'), cell: ({ title }) => title },
        {
          title: say('check.list_entries'),
          is_figure: true,
          cell: ({ entries }) => count(Number(entries)),
        },
        {
          title: say('check.list_loaded'),
          cell: ({ loaded_at }) => <Time at={loaded_at} />,
        },
      ]}
    />
  )
}

export function Limits(evidence: Evidence) {
  const { index, asked, factors } = evidence
  if (!isOurs(evidence)) return null
  const { first_block: first, last_block: last } = index
  return (
    <section class="panel">
      <h2>{say('check.limits')}</h2>
      <ul class="limits">
        <li>{say('check.limit_blocks', { first, last })}</li>
        <li>{say('check.limit_networks', { network: asked.network })}</li>
        <li>{say('check.limit_owners')}</li>
        <li>{say('check.limit_services')}</li>
        {factors.some(({ path }) => path.length === 0) && <li>{say('check.limit_ways')}</li>}
      </ul>
    </section>
  )
}
