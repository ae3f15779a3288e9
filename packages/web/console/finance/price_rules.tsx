// Rules that raise prices: a floor by cost, and steps as the pool fills. One is looked at on the
// last orders before it is set.

import { useSignal } from '@preact/signals'
import { useSubmission } from '../../shared/calls/submission.ts'
import { FaultNote } from '../../shared/parts/answer.tsx'
import { Block } from '../../shared/parts/block.tsx'
import { Dialog } from '../../shared/parts/dialog.tsx'
import { Field, Form, Submit, TextField } from '../../shared/parts/field.tsx'
import { Money } from '../../shared/parts/money.tsx'
import { Facts } from '../../shared/parts/table.tsx'
import { count, named, say } from '../../shared/words/words.ts'
import { type Body, mayChange, type Reply, type Row, run, trx, useRun } from '../calls/calls.ts'
import { ReasonForm } from '../calls/reason.tsx'
import { ReasonButton } from '../calls/reason_button.tsx'
import { Rows } from '../calls/rows.tsx'

type Rule = Row<'price-rules show'>
type RuleFields = Body<'price-rules preview'>
type Preview = Reply<'price-rules preview'>

const RESOURCES = ['energy', 'bandwidth'] as const

const stepsText = ({ steps }: Pick<Rule, 'steps'>): string =>
  steps.map(({ full_percent, raise_percent }) => `${full_percent}=${raise_percent}`).join(' ')

export function PriceRules({ onDone }: { onDone: () => void }) {
  const rules = useRun('price-rules show', {})
  const again = () => {
    void rules.again()
    onDone()
  }
  return (
    <Block
      title={say('price_rules')}
      why={say('price_rules.why')}
      action={mayChange() && <NewRule onDone={again} />}
    >
      <Rows
        question={rules}
        none={say('price_rules.none')}
        caption={say('price_rules')}
        keyOf={({ resource }) => resource}
        columns={[
          { title: say('resource'), cell: ({ resource }) => named('resource', resource) },
          {
            title: say('price_rules.margin'),
            is_figure: true,
            cell: ({ margin_percent }) => (margin_percent === null ? '–' : count(margin_percent)),
          },
          {
            title: say('price_rules.floor'),
            is_figure: true,
            cell: ({ floor_sun }) => (floor_sun === null ? '–' : <Money trx={trx(floor_sun)} />),
          },
          {
            title: say('price_rules.refused'),
            is_figure: true,
            cell: ({ refused_sun }) =>
              refused_sun === null ? '–' : <Money trx={trx(refused_sun)} />,
          },
          { title: say('price_rules.steps'), cell: (rule) => stepsText(rule) || '–' },
          {
            title: say('price_rules.full'),
            is_figure: true,
            cell: ({ full_percent }) => count(full_percent),
          },
          {
            title: say('price_rules.raise'),
            is_figure: true,
            cell: ({ raise_percent }) => count(raise_percent),
          },
          { title: say('by'), cell: ({ set_by }) => set_by },
          {
            title: say('do'),
            is_actions: true,
            cell: ({ resource }) => (
              <ReasonButton
                text={say('price_rules.end')}
                about={named('resource', resource)}
                words="price-rules set"
                body={{ resource: resource as RuleFields['resource'], none: true }}
                onDone={again}
              >
                <p>{named('resource', resource)}</p>
              </ReasonButton>
            ),
          },
        ]}
      />
    </Block>
  )
}

/** `80=10 95=25`; undefined: it is none. */
function stepsOf(typed: string): RuleFields['steps'] {
  const words = typed.split(/[\s,]+/).filter((word) => word !== '')
  const steps = words.map((word) => {
    const [, full, raise] = /^(\d{1,3})=(\d{1,4})$/.exec(word) ?? []
    return { full_percent: Number(full), raise_percent: Number(raise) }
  })
  return steps.some(({ full_percent }) => Number.isNaN(full_percent)) ? undefined : steps
}

/** The rule that the fields say; undefined: they say none. */
function wantedOf(
  resource: RuleFields['resource'],
  margin: string,
  typed: string,
): RuleFields | undefined {
  const steps = stepsOf(typed)
  const is_margin = /^\d{0,4}$/.test(margin)
  if (!steps || !is_margin || (margin === '' && steps.length === 0)) return undefined
  return { resource, ...(margin !== '' && { margin: Number(margin) }), steps }
}

function NewRule({ onDone }: { onDone: () => void }) {
  const is_open = useSignal(false)
  const close = () => {
    is_open.value = false
  }
  return (
    <>
      <button
        type="button"
        onClick={() => {
          is_open.value = true
        }}
      >
        {say('price_rules.new')}
      </button>
      {is_open.value && (
        <Dialog title={say('price_rules.new')} onClose={close}>
          <RuleForm
            onDone={() => {
              close()
              onDone()
            }}
          />
        </Dialog>
      )}
    </>
  )
}

/** A preview first; then the rule is set, with a reason. */
function RuleForm({ onDone }: { onDone: () => void }) {
  const resource = useSignal<RuleFields['resource']>('energy')
  const margin = useSignal('')
  const steps = useSignal('')
  const looked = useSignal<{ wanted: RuleFields; preview: Preview } | undefined>(undefined)
  const submission = useSubmission()
  const wanted = wantedOf(resource.value, margin.value, steps.value)
  const look = () =>
    submission.run(async () => {
      if (wanted) looked.value = { wanted, preview: await run('price-rules preview', wanted) }
    })
  return (
    <>
      <Form onSubmit={look}>
        <Field label={say('resource')}>
          {(control) => (
            <select
              {...control}
              value={resource.value}
              onChange={({ currentTarget }) => {
                resource.value = currentTarget.value as RuleFields['resource']
              }}
            >
              {RESOURCES.map((one) => (
                <option key={one} value={one}>
                  {named('resource', one)}
                </option>
              ))}
            </select>
          )}
        </Field>
        <TextField
          label={say('price_rules.margin')}
          hint={say('price_rules.margin.hint')}
          inputMode="numeric"
          value={margin.value}
          onText={(text) => {
            margin.value = text.trim()
          }}
        />
        <TextField
          label={say('price_rules.steps')}
          hint={say('price_rules.steps.hint')}
          value={steps.value}
          onText={(text) => {
            steps.value = text
          }}
        />
        {submission.fault.value && <FaultNote fault={submission.fault.value} />}
        <Submit
          kind="minor"
          is_busy={submission.is_busy.value}
          off={wanted === undefined ? say('price_rules.needed') : undefined}
        >
          {say('price_rules.preview')}
        </Submit>
      </Form>
      {looked.value && (
        <>
          <Facts facts={factsOf(looked.value.preview)} />
          <ReasonForm
            key={JSON.stringify(looked.value.wanted)}
            action={say('price_rules.set')}
            act={(reason) => run('price-rules set', { ...looked.value!.wanted, reason })}
            onDone={onDone}
          />
        </>
      )}
    </>
  )
}

const factsOf = (preview: Preview): [string, string | preact.VNode][] => [
  [say('price_rules.orders'), count(preview.orders)],
  [say('price_rules.cost'), <Money trx={trx(preview.cost_1000_sun)} />],
  [say('price_rules.base'), <Money trx={trx(preview.base_sun)} />],
  [say('price_rules.with_floor'), <Money trx={trx(preview.with_floor_sun)} />],
  [say('price_rules.with_steps'), <Money trx={trx(preview.with_steps_sun)} />],
  [say('price_rules.with_both'), <Money trx={trx(preview.with_both_sun)} />],
]
