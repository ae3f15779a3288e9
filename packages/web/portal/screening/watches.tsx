// Addresses that are screened again whenever what is known of them changes, at no cost.

import { useSignal } from '@preact/signals'
import type { Body, Result } from 'penstock-sdk'
import { ask } from '../../shared/calls/ask.ts'
import { useSubmission } from '../../shared/calls/submission.ts'
import { FilteredList } from '../../shared/files/filtered_list.tsx'
import type { PageProps } from '../../shared/frame/face.ts'
import { toast } from '../../shared/frame/toasts.tsx'
import { Address, shortText } from '../../shared/parts/address.tsx'
import { Empty, FaultNote } from '../../shared/parts/answer.tsx'
import { Form, namedChoices, Submit, TextField } from '../../shared/parts/field.tsx'
import type { FilterField } from '../../shared/parts/list.tsx'
import type { Column } from '../../shared/parts/table.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/portal.ts'
import { named, say } from '../../shared/words/words.ts'
import { CheckOutcome } from './level.tsx'

type Watch = Result<'/v1/aml-watches/list'>['items'][number]

const LEVELS = ['low', 'medium', 'high']

const filterFields = (): FilterField[] => [
  { name: 'address', label: say('watch.address') },
  {
    name: 'level',
    label: say('watch.last'),
    choices: namedChoices('level', LEVELS),
  },
]

export function Watches({ query }: Pick<PageProps, 'query'>) {
  const address = useSignal('')
  const wrong = useSignal<string | undefined>(undefined)
  const version = useSignal(0)
  const submission = useSubmission()
  const change = async (work: () => Promise<unknown>) => {
    if (await submission.run(work)) version.value++
  }
  const watch = () => {
    wrong.value = address.value === '' ? say('check.nothing') : undefined
    if (wrong.value !== undefined) return
    void change(async () => {
      await ask('/v1/aml-watch/new', { address: address.value })
      address.value = ''
    })
  }
  const unwatch = (watched: Watch) =>
    change(async () => {
      const { address } = watched
      // Its rules may have changed since the page was loaded.
      const { items } = await ask('/v1/aml-watches/list', { address, limit: 1 })
      await ask('/v1/aml-watch/remove', { address })
      toast(
        say('watch.stopped', { address: shortText(address) }),
        () => void change(() => ask('/v1/aml-watch/new', newOf(items[0] ?? watched))),
      )
    })
  return (
    <div class="stack">
      <Form
        onSubmit={watch}
        wrong={submission.fault.value && <FaultNote fault={submission.fault.value} />}
      >
        <TextField
          label={say('order.address')}
          hint={say('watches.hint')}
          wrong={wrong.value}
          value={address.value}
          onText={(text) => {
            wrong.value = undefined
            address.value = text.trim()
          }}
        />
        <Submit is_busy={submission.is_busy.value}>{say('watch')}</Submit>
      </Form>
      <div>
        <FilteredList<Watch>
          path="/v1/aml-watches/list"
          address={path.screening}
          query={query}
          fields={filterFields()}
          file="watches"
          caption={say('watches')}
          columns={columns(submission.is_busy.value, unwatch)}
          keyOf={({ address }) => address}
          isStale={({ type }) => type.startsWith('aml_')}
          version={version.value}
          none={
            <Empty>
              <p>{say('watches.none')}</p>
            </Empty>
          }
        />
      </div>
    </div>
  )
}

/** The same watch once more. */
function newOf({ address, reference, rules }: Watch): Body<'/v1/aml-watch/new'> {
  const set = Object.fromEntries(Object.entries(rules).filter(([, value]) => value !== null))
  return { address, rules: set, ...(reference !== null && { reference }) }
}

/** The rules of a watch, and what the customer calls it. */
function rulesText({ reference, rules: told }: Watch): string {
  const { any_incoming_usd, severe_share_bp, severe_usd, sent_to } = told
  const rules = [
    any_incoming_usd !== null && say('watch.rule_incoming', { usd: any_incoming_usd }),
    severe_share_bp !== null && say('watch.rule_share', { percent: severe_share_bp / 100 }),
    severe_usd !== null && say('watch.rule_usd', { usd: severe_usd }),
    sent_to && say('watch.rule_sent'),
  ].filter((one) => one !== false)
  const all = rules.join('; ') || say('watch.rule_level')
  return reference === null ? all : `${reference}: ${all}`
}

const columns = (is_busy: boolean, unwatch: (watched: Watch) => void): Column<Watch>[] => [
  { title: say('order.address'), cell: ({ address }) => <Address address={address} /> },
  { title: say('watch.rules'), cell: rulesText },
  { title: say('watch.since'), cell: ({ since }) => <Time at={since} /> },
  {
    title: say('watch.last'),
    cell: ({ check, level_before }) =>
      check && (
        <>
          <CheckOutcome check={check} /> <a href={path.check(check.id)}>{say('check.report')}</a>
          {level_before !== null && (
            <span class="quiet">
              {' '}
              {say('watch.before')} {named('level', level_before)}
            </span>
          )}
        </>
      ),
  },
  {
    title: say('subscription.do'),
    cell: (watched) => (
      <button
        type="button"
        class="small"
        disabled={is_busy}
        aria-label={`${say('watch.stop')} ${watched.address}`}
        onClick={() => unwatch(watched)}
      >
        {say('watch.stop')}
      </button>
    ),
  },
]
