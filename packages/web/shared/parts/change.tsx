// A change of a record: before and after, as they are kept.

import type { RecordedChange } from '../words/deeds.ts'
import { say } from '../words/words.ts'

type TwoStates = { before: unknown; after: unknown }

const States = ({ before, after }: TwoStates) => (
  <pre tabIndex={0}>
    {JSON.stringify(before, null, 2)}
    {'\n→ '}
    {JSON.stringify(after, null, 2)}
  </pre>
)

/** Of each thing, folded, and what the wire calls the change. */
export const Changes = ({ deed }: { deed: readonly RecordedChange[] }) => (
  <details>
    <summary>{say('record.show')}</summary>
    <p>
      <code>{deed[0]!.action}</code>
    </p>
    {deed.map(({ number, subject, ...kept }) => (
      <div key={number}>
        <code>{subject}</code>
        <States {...kept} />
      </div>
    ))}
  </details>
)
