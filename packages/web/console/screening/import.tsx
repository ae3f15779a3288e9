// A list in a file: what it would change is shown at once, and only then can it be put in force.

import { useSignal } from '@preact/signals'
import { useSubmission } from '../../shared/calls/submission.ts'
import { Address } from '../../shared/parts/address.tsx'
import { FaultNote } from '../../shared/parts/answer.tsx'
import { CheckField, Field } from '../../shared/parts/field.tsx'
import { Shape } from '../../shared/parts/state.tsx'
import { Table } from '../../shared/parts/table.tsx'
import { count, say } from '../../shared/words/words.ts'
import { type Body, type Reply, run } from '../calls/calls.ts'
import { Reason } from '../calls/reason.tsx'

type Preview = Reply<'lists preview'>
type Upload = Body<'lists preview'>

export type ImportProps = Pick<Upload, 'list'> & { onDone: () => void }

export function Import({ list, onDone }: ImportProps) {
  const chosen = useSignal<{ upload: Upload; preview: Preview } | undefined>(undefined)
  const is_open = useSignal(false)
  const shrink = useSignal(false)
  const submission = useSubmission()
  const look = (file: File) =>
    submission.run(async () => {
      chosen.value = undefined
      shrink.value = false
      const upload = { list, file: { name: file.name, text: await file.text() } }
      chosen.value = { upload, preview: await run('lists preview', upload) }
    })
  const { upload, preview } = chosen.value ?? {}
  return (
    <section class="stack">
      <Field label={say('lists.file')} hint={say('lists.file.hint')}>
        {(control) => (
          <input
            {...control}
            type="file"
            onChange={({ currentTarget }) => {
              const [file] = currentTarget.files ?? []
              if (file) void look(file)
            }}
          />
        )}
      </Field>
      {submission.is_busy.value && <p role="status">{say('busy')}</p>}
      {submission.fault.value && <FaultNote fault={submission.fault.value} />}
      {upload && preview && (
        <>
          <Effect {...preview} />
          {preview.refused !== null && (
            <CheckField
              label={say('lists.shrink')}
              is_on={shrink.value}
              onCheck={(is_on) => {
                shrink.value = is_on
              }}
            />
          )}
          <p class="actions">
            <button
              type="button"
              class="main"
              disabled={
                preview.added + preview.removed === 0 || (preview.refused !== null && !shrink.value)
              }
              onClick={() => {
                is_open.value = true
              }}
            >
              {say('lists.publish')}
            </button>
          </p>
        </>
      )}
      {upload && is_open.value && (
        <Reason
          title={say('lists.publish')}
          words="lists import"
          body={{ ...upload, ...(shrink.value && { shrink: true }) }}
          onDone={() => {
            chosen.value = undefined
            onDone()
          }}
          onClose={() => {
            is_open.value = false
          }}
        />
      )}
    </section>
  )
}

const Effect = (preview: Preview) => (
  <>
    <p role="status">
      {say('lists.counts', {
        before: count(preview.entries_before),
        after: count(preview.entries),
        added: count(preview.added),
        removed: count(preview.removed),
        passed_over: count(preview.passed_over),
      })}{' '}
      {say('lists.watched', { n: preview.watched })}{' '}
      {preview.misspelt > 0 && say('lists.misspelt', { count: count(preview.misspelt) })}
    </p>
    {preview.refused !== null && (
      <p class="note warn">
        <Shape mark="look" /> {preview.refused}
      </p>
    )}
    {preview.differences.length > 0 && (
      <Table
        caption={say('lists.differences')}
        caption_shown
        keyOf={({ change, address, category }) => `${change} ${address} ${category}`}
        rows={preview.differences}
        columns={[
          {
            title: say('lists.change'),
            cell: ({ change }) => (change === 'added' ? say('lists.added') : say('lists.removed')),
          },
          { title: say('address'), cell: ({ address }) => <Address address={address} /> },
          { title: say('review.category'), cell: ({ category }) => category },
          { title: say('lists.entity'), cell: ({ entity }) => entity },
          {
            title: say('lists.confidence'),
            is_figure: true,
            cell: ({ confidence }) => count(confidence),
          },
        ]}
      />
    )}
  </>
)
