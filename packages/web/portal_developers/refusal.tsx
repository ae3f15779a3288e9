// A refusal as the wire has it, and its reason in words.

import type { Result } from 'penstock-sdk'
import { nameIfKnown } from '../words/words.ts'

export type Refusal = Result<'/v1/refusals/list'>['items'][number]

/** What was answered, in words where there are some. */
export const Reason = ({ code, name }: { code: number; name: string }) => (
  <span>
    <code>
      {code} {name}
    </code>{' '}
    <span class="quiet">{nameIfKnown('refusal', name) ?? ''}</span>
  </span>
)
