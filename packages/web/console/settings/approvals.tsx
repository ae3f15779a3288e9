// Corrections of customers' money and other changes that want a second operator, and those of both
// that wait for one.

import { useSignal } from '@preact/signals'
import { Answer, Empty } from '../../shared/parts/answer.tsx'
import { Block } from '../../shared/parts/block.tsx'
import { ChoiceField, TextField } from '../../shared/parts/field.tsx'
import { Money } from '../../shared/parts/money.tsx'
import { Table } from '../../shared/parts/table.tsx'
import { now_ms, Time } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/console.ts'
import { count, type Key, say } from '../../shared/words/words.ts'
import { type Reply, type Row, sunOf, trx, useRun } from '../calls/calls.ts'
import { ReasonButton } from '../calls/reason_button.tsx'
import { Rows } from '../calls/rows.tsx'

type Rule = Reply<'approvals show'>
type Second = Rule['second']
const SECONDS: readonly Second[] = ['none', 'name', 'role']

const MEANINGS: Record<Second, Key> = {
  none: 'approvals.none',
  name: 'approvals.name',
  role: 'approvals.role',
}
const NAMES: Record<Second, Key> = {
  none: 'approvals.who.none',
  name: 'approvals.who.name',
  role: 'approvals.who.role',
}

export function ApprovalRule() {
  const rule = useRun('approvals show', {})
  return (
    <Block
      title={say('approvals')}
      why={say('approvals.why')}
      action={
        rule.answer.value && <ChangeRule {...rule.answer.value} onDone={() => void rule.again()} />
      }
    >
      <Answer question={rule} lines={3}>
        {(known) => (
          <p>{say(MEANINGS[known.second], { amount: `${count(trx(known.from_sun))} TRX` })}</p>
        )}
      </Answer>
    </Block>
  )
}

function ChangeRule({ second, from_sun, onDone }: Rule & { onDone: () => void }) {
  const chosen = useSignal<Second>(second)
  const from = useSignal(String(trx(from_sun)))
  const typed_sun = sunOf(from.value)
  return (
    <ReasonButton
      text={say('approvals.change')}
      words="approvals set"
      body={{ second: chosen.value, from_sun: typed_sun ?? from_sun }}
      off={typed_sun === undefined ? say('amount.needed') : undefined}
      for_admins
      onDone={onDone}
    >
      <ChoiceField
        label={say('approvals.who')}
        value={chosen.value}
        choices={SECONDS.map((value) => ({ value, text: say(NAMES[value]) }))}
        onChoice={(value) => {
          chosen.value = value as Second
        }}
      />
      <TextField
        label={say('approvals.from')}
        inputMode="decimal"
        value={from.value}
        onText={(text) => {
          from.value = text
        }}
      />
    </ReasonButton>
  )
}

export function Proposals() {
  const proposals = useRun(
    'approvals list',
    { open: true, limit: 100 },
    { patch: (known, { type }) => (type === 'action.made' ? 'again' : known) },
  )
  return (
    <Block title={say('approvals.open')} why={say('approvals.open.why')}>
      <Rows
        question={proposals}
        none={say('approvals.none_open')}
        caption={say('approvals.open')}
        keyOf={({ id }) => id}
        columns={[
          {
            title: say('customer'),
            cell: ({ customer_id }) => (
              <a href={path.customer(customer_id)}>
                <code>{customer_id}</code>
              </a>
            ),
          },
          {
            title: say('amount'),
            is_figure: true,
            cell: ({ amount_sun }) => <Money trx={trx(amount_sun)} />,
          },
          { title: say('reason'), cell: ({ reason }) => reason },
          { title: say('approvals.by'), cell: ({ proposed_by }) => proposed_by },
          { title: say('approvals.until'), cell: ({ ends_at }) => <Time at={ends_at} relative /> },
          {
            title: say('approvals.give'),
            cell: ({ id }) => (
              <ReasonButton
                text={say('approvals.give')}
                about={id}
                words="approvals give"
                body={{ id }}
                onDone={() => void proposals.again()}
              >
                <p>{say('approvals.give.sentence')}</p>
              </ReasonButton>
            ),
          },
        ]}
      />
    </Block>
  )
}

type OperationProposal = Row<'approvals operations'>

/** Other changes: whoever proposed one makes it, once another has allowed that. */
export function OperationProposals() {
  const proposals = useRun(
    'approvals operations',
    { limit: 100 },
    { patch: (known, { type }) => (type === 'action.made' ? 'again' : known) },
  )
  const isOpen = ({ used_at, ends_at }: OperationProposal) =>
    used_at === null && new Date(ends_at).getTime() > now_ms.value
  return (
    <Block title={say('approvals.operations')} why={say('approvals.operations.why')}>
      <Answer question={proposals} lines={3}>
        {(all) =>
          all.some(isOpen) ? (
            <OpenOperations rows={all.filter(isOpen)} onDone={() => void proposals.again()} />
          ) : (
            <Empty>
              <p>{say('approvals.operations.none')}</p>
            </Empty>
          )
        }
      </Answer>
    </Block>
  )
}

type OpenOperationsProps = { rows: readonly OperationProposal[]; onDone: () => void }

const OpenOperations = ({ rows, onDone }: OpenOperationsProps) => (
  <Table
    caption={say('approvals.operations')}
    keyOf={({ id }) => id}
    rows={rows}
    columns={[
      { title: say('approvals.what'), cell: ({ action }) => <code>{action}</code> },
      { title: say('approvals.body'), cell: ({ body }) => <code>{body}</code> },
      { title: say('reason'), cell: ({ reason }) => reason },
      { title: say('approvals.by'), cell: ({ proposed_by }) => proposed_by },
      { title: say('approvals.until'), cell: ({ ends_at }) => <Time at={ends_at} relative /> },
      {
        title: say('approvals.allow'),
        cell: ({ id, action, proposed_by, approved_by }) =>
          approved_by === null ? (
            <ReasonButton
              text={say('approvals.allow')}
              about={action}
              words="approvals allow"
              body={{ id }}
              onDone={onDone}
            >
              <p>{say('approvals.allow.sentence', { by: proposed_by })}</p>
            </ReasonButton>
          ) : (
            say('approvals.allowed', { by: approved_by })
          ),
      },
    ]}
  />
)
