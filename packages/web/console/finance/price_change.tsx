// Another price of a tier: before and after first, on what was ordered lately.

import { useSignal } from '@preact/signals'
import { useSubmission } from '../../shared/calls/submission.ts'
import { FaultNote } from '../../shared/parts/answer.tsx'
import { Form, Submit, TextField } from '../../shared/parts/field.tsx'
import { Money } from '../../shared/parts/money.tsx'
import { Table } from '../../shared/parts/table.tsx'
import { count, named, say } from '../../shared/words/words.ts'
import { type Row, run, sunOf, trx } from '../calls/calls.ts'
import { ReasonForm } from '../calls/reason.tsx'

export type Tier = Row<'prices list'>
type Preview = Row<'prices preview'>

export const rangeText = ({ min_amount, max_amount }: Pick<Tier, 'min_amount' | 'max_amount'>) =>
  `${count(min_amount)} – ${count(max_amount)}`

/** Shown below the table of prices. */
export function PriceChange({ tier, onDone }: { tier: Tier; onDone: () => void }) {
  const price = useSignal(String(trx(tier.price_sun)))
  const preview = useSignal<{ price_sun: number; rows: Preview[] } | undefined>(undefined)
  const submission = useSubmission()
  const { resource, min_amount, max_amount } = tier
  const typed_sun = sunOf(price.value)
  const at = (price_sun: number) => ({ resource, tiers: [{ min_amount, max_amount, price_sun }] })
  const look = () =>
    submission.run(async () => {
      if (typed_sun === undefined) return
      preview.value = { price_sun: typed_sun, rows: await run('prices preview', at(typed_sun)) }
    })
  return (
    <section class="panel">
      <h2>
        {named('resource', resource)} {rangeText(tier)}
      </h2>
      <Form onSubmit={look}>
        <TextField
          label={say('prices.new')}
          hint={say('prices.of_1000')}
          inputMode="decimal"
          value={price.value}
          onText={(text) => {
            price.value = text.trim()
          }}
        />
        {submission.fault.value && <FaultNote fault={submission.fault.value} />}
        <Submit
          kind="minor"
          is_busy={submission.is_busy.value}
          off={typed_sun === undefined ? say('amount.needed') : undefined}
        >
          {say('prices.preview')}
        </Submit>
      </Form>
      {preview.value && (
        <>
          <Effect rows={preview.value.rows} />
          <ReasonForm
            key={preview.value.price_sun}
            action={say('prices.set')}
            act={(reason) => run('prices set', { ...at(preview.value!.price_sun), reason })}
            onDone={() => {
              preview.value = undefined
              onDone()
            }}
          >
            <p>
              {rangeText(tier)}: {trx(tier.price_sun)} → {trx(preview.value.price_sun)} TRX
            </p>
          </ReasonForm>
        </>
      )}
    </section>
  )
}

const Effect = ({ rows }: { rows: readonly Preview[] }) => (
  <Table
    caption={say('prices.effect')}
    caption_shown
    keyOf={rangeText}
    rows={rows}
    columns={[
      { title: say('prices.range'), cell: rangeText, is_figure: true },
      { title: say('orders.all'), cell: ({ orders }) => count(orders), is_figure: true },
      {
        title: say('before'),
        cell: ({ before_sun }) => <Money trx={trx(before_sun)} />,
        is_figure: true,
      },
      {
        title: say('after'),
        cell: ({ after_sun }) => <Money trx={trx(after_sun)} />,
        is_figure: true,
      },
    ]}
  />
)
