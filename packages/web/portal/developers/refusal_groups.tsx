// Refusals that have the same reason: how often, where, and when last.

import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { ask } from '../../shared/calls/ask.ts'
import { useSubmission } from '../../shared/calls/submission.ts'
import { Empty, FaultNote, Skeleton } from '../../shared/parts/answer.tsx'
import { Table } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/portal.ts'
import { count, say } from '../../shared/words/words.ts'
import { Reason, type Refusal } from './refusal.tsx'

type Group = { code: number; key: string; path: string; count: number; last: string }
type Read = { groups: Group[]; read: number; has_more: boolean; left_out: number }

const PAGE = 100
/** Enough to see what goes wrong; all of them may be 70,000. */
const READ_MAX = 500

/** Refusals by code, key and path, the most frequent first. They come newest first. */
function groupsOf(refusals: readonly Refusal[]): Group[] {
  const groups = new Map<string, Group>()
  for (const { code, key, path, at } of refusals) {
    const name = `${code} ${key} ${path}`
    const group = groups.get(name) ?? { code, key, path, count: 0, last: at }
    groups.set(name, { ...group, count: group.count + 1 })
  }
  return [...groups.values()].sort((one, other) => other.count - one.count)
}

async function readGroups(): Promise<Read> {
  const all: Refusal[] = []
  let before: string | null = null
  let left_out = 0
  do {
    const body: { limit: number; before?: string } = { limit: PAGE }
    if (before !== null) body.before = before
    const page = await ask('/v1/refusals/list', body)
    all.push(...page.items)
    before = page.next
    left_out = page.left_out
  } while (before !== null && all.length < READ_MAX)
  return { groups: groupsOf(all), read: all.length, has_more: before !== null, left_out }
}

export function Groups() {
  const submission = useSubmission()
  const read = useSignal<Read | undefined>(undefined)
  const load = () =>
    submission.run(async () => {
      read.value = await readGroups()
    })
  useEffect(() => {
    void load()
  }, [])
  if (submission.fault.value) return <FaultNote fault={submission.fault.value} again={load} />
  if (!read.value) return <Skeleton lines={4} />
  const { groups, read: n, has_more, left_out } = read.value
  if (groups.length === 0)
    return (
      <Empty>
        <p>{say('refusals.none')}</p>
        <a href={path.reference()}>{say('refusals.codes')}</a>
      </Empty>
    )
  return (
    <>
      <Table
        caption={say('refusals.groups')}
        rows={groups}
        keyOf={({ code, key, path }) => `${code} ${key} ${path}`}
        columns={[
          {
            title: say('refusal.reason'),
            cell: (one) => <Reason code={one.code} name={one.key} />,
          },
          { title: say('refusal.path'), cell: (one) => <code>{one.path}</code> },
          { title: say('refusal.count'), is_figure: true, cell: (one) => count(one.count) },
          { title: say('refusal.last'), cell: ({ last }) => <Time at={last} relative /> },
          {
            title: say('refusals.single'),
            cell: ({ code }) => <a href={path.refusals(String(code))}>{say('hand.look')}</a>,
          },
        ]}
      />
      {has_more && <p class="quiet">{say('refusals.newest', { n })}</p>}
      {left_out > 0 && <p class="quiet">{say('refusals.left_out', { n: left_out })}</p>}
    </>
  )
}
