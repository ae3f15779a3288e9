// What answers of screening rest on beside the lists: the index and the policy.

import { Answer } from '../../shared/parts/answer.tsx'
import { Block } from '../../shared/parts/block.tsx'
import { Facts, Table } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { count, say } from '../../shared/words/words.ts'
import { useRun } from '../calls/calls.ts'
import { IndexSizes } from './index_sizes.tsx'

export function Index() {
  const state = useRun('aml status', {})
  const known = (number: number | null) => (number === null ? say('not_known') : count(number))
  return (
    <Block title={say('screening.index')} why={say('screening.index.why')}>
      <Answer question={state} lines={3}>
        {(now) => (
          <Facts
            facts={[
              [say('screening.generation'), known(now.generation)],
              [say('screening.first_block'), known(now.first_block)],
              [say('screening.last_block'), known(now.last_block)],
              [say('screening.behind'), known(now.behind)],
              [say('screening.hubs'), count(now.hubs)],
              [say('screening.label_set'), count(now.label_set)],
            ]}
          />
        )}
      </Answer>
      <IndexSizes />
    </Block>
  )
}

/** The one in force, and what it says otherwise than the one before. */
export function Policy() {
  const versions = useRun('aml policies', { limit: 1 })
  return (
    <Block title={say('screening.policy')} why={say('screening.policy.why')}>
      <Answer question={versions} lines={3}>
        {([newest]) => (
          <>
            <p>
              {say('screening.version', { n: newest!.version })}{' '}
              {newest!.published_at === null ? (
                say('screening.shipped')
              ) : (
                <>
                  {newest!.published_by}, <Time at={newest!.published_at} relative />
                </>
              )}
            </p>
            {newest!.changes.length > 0 && (
              <Table
                caption={say('screening.changes')}
                caption_shown
                keyOf={({ field }) => field}
                rows={newest!.changes}
                columns={[
                  { title: say('screening.field'), cell: ({ field }) => <code>{field}</code> },
                  { title: say('screening.before'), cell: ({ before }) => <code>{before}</code> },
                  { title: say('screening.after'), cell: ({ after }) => <code>{after}</code> },
                ]}
              />
            )}
          </>
        )}
      </Answer>
    </Block>
  )
}
