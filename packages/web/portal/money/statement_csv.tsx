// A statement to take along: the same bytes as the SDK and the command line make of the period.

import { useSignal } from '@preact/signals'
import { type Result, statementText } from 'penstock-sdk'
import { ask } from '../../shared/calls/ask.ts'
import { useSubmission } from '../../shared/calls/submission.ts'
import { saveFile } from '../../shared/files/csv.ts'
import { FaultNote } from '../../shared/parts/answer.tsx'
import { say } from '../../shared/words/words.ts'
import type { Period } from './period.ts'

const PAGE = 1_000

export function StatementCsv({ period, name }: { period: Period; name: string }) {
  const submission = useSubmission()
  const read = useSignal(0)
  const download = () =>
    submission.run(async () => {
      const entries: Result<'/v1/statement'>['items'] = []
      let page: Result<'/v1/statement'> | undefined
      do {
        const at = page?.next ? { before: page.next } : {}
        page = await ask('/v1/statement', { ...period, ...at, limit: PAGE })
        entries.push(...page.items)
        read.value = entries.length
      } while (page.next !== null)
      const { opening } = await ask('/v1/statement', { ...period, limit: 1 })
      const text = statementText(period, { opening, entries })
      saveFile(`statement-${name}.csv`, 'text/csv', text)
    })
  return (
    <>
      {submission.fault.value && <FaultNote fault={submission.fault.value} />}
      <p class="actions">
        <button type="button" class="main" disabled={submission.is_busy.value} onClick={download}>
          {say('download.csv')}
        </button>
        <button type="button" onClick={() => window.print()}>
          {say('print')}
        </button>
        {submission.is_busy.value && (
          <span role="status">{say('download.lines', { n: read.value })}</span>
        )}
      </p>
    </>
  )
}
