// What the customer's calls were refused for in the last seven days: how often for the same
// reason, then each of them, and what a wrong signature would have been right for.

import { FilteredList } from '../../shared/files/filtered_list.tsx'
import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
import { LongText } from '../../shared/parts/address.tsx'
import { Empty } from '../../shared/parts/answer.tsx'
import type { FilterField } from '../../shared/parts/list.tsx'
import { type Column, Facts } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/portal.ts'
import { spanText } from '../../shared/words/span.ts'
import { named, say } from '../../shared/words/words.ts'
import { Reason, type Refusal } from './refusal.tsx'
import { Groups } from './refusal_groups.tsx'
import { SignHelper } from './sign_helper.tsx'

/** Those that a client may have. */
const CODES = [1, 2, 3, 5, 6, 10, 11, 12, 20, 24, 25, 30, 35, 50, 70, 71, 72, 73, 74, 75, 76, 500]

const filterFields = (): FilterField[] => [
  {
    name: 'code',
    label: say('refusal.code'),
    choices: CODES.map((one) => ({ value: String(one), text: String(one) })),
  },
  { name: 'since', label: say('filter.since'), type: 'date' },
]

export default function Refusals({ query }: PageProps) {
  return (
    <>
      <Title title={say('refusals')} section={say('developers')} />
      <div class="stack">
        <section class="panel">
          <h2>{say('refusals.groups')}</h2>
          <Groups />
        </section>
        <section class="panel">
          <h2>{say('refusals.single')}</h2>
          <FilteredList<Refusal>
            path="/v1/refusals/list"
            address={path.refusals()}
            query={query}
            fields={filterFields()}
            bodyOf={({ code = '', ...rest }) => ({
              ...rest,
              ...(/^\d+$/.test(code) && { code: Number(code) }),
            })}
            file="refusals"
            caption={say('refusals.single')}
            columns={columns()}
            keyOf={({ request_id }) => request_id}
            none={
              <Empty>
                <p>{say('refusals.none')}</p>
              </Empty>
            }
          />
        </section>
        <SignHelper />
      </div>
    </>
  )
}

const columns = (): Column<Refusal>[] => [
  { title: say('time'), cell: ({ at }) => <Time at={at} relative /> },
  { title: say('refusal.path'), cell: ({ path }) => <code>{path}</code> },
  { title: say('refusal.reason'), cell: ({ code, key }) => <Reason code={code} name={key} /> },
  { title: say('refusal.took'), is_figure: true, cell: ({ ms }) => spanText(ms) },
  { title: say('refusal.more'), cell: More },
]

/** What it came with, and what a wrong signature would have been right for. */
function More(refusal: Refusal) {
  const { request_id, key_id, ip, body } = refusal
  // A missing second signature is the whole of its hint.
  const hint = typeof refusal.hint === 'string' ? null : refusal.hint
  const hint_name = typeof refusal.hint === 'string' ? refusal.hint : hint?.right_for
  return (
    <details>
      <summary>{hint_name ? named('hint', hint_name) : say('refusal.details')}</summary>
      <div class="stack">
        <Facts
          facts={[
            [
              say('fault.request'),
              <LongText key="request" text={request_id} what={say('fault.request')} whole />,
            ],
            [say('key.id'), <code key="key">{key_id}</code>],
            [say('refusal.from'), <code key="ip">{ip}</code>],
          ]}
        />
        {hint && (
          <p>
            {say('hint.hashed', { n: hint.hashed_bytes })} <code>{hint.body_sha256}</code>.{' '}
            {hint.right_for === null ? say('hint.none') : named('hint', hint.right_for)}
          </p>
        )}
        {body !== null && (
          <pre tabIndex={0} aria-label={say('refusal.body')}>
            <code>{body}</code>
          </pre>
        )}
      </div>
    </details>
  )
}
