// A change of a record, folded: before and after, as they are kept.

import { say } from '../words/words.ts'

export const Change = ({ before, after }: { before: unknown; after: unknown }) => (
  <details>
    <summary>{say('record.show')}</summary>
    <pre tabIndex={0}>
      {JSON.stringify(before, null, 2)}
      {'\n→ '}
      {JSON.stringify(after, null, 2)}
    </pre>
  </details>
)
