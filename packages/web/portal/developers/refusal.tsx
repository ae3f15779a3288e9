// A refusal as the wire has it, and its reason in words.

import type { Result } from 'penstock-sdk'
import { refusedText } from '../../shared/words/refused.ts'

export type Refusal = Result<'/v1/refusals/list'>['items'][number]

/** What was answered to a program, in words. */
export const Reason = ({ code, name }: { code: number; name: string }) => (
  <span>
    <code>
      {code} {name}
    </code>{' '}
    <span class="quiet">{refusedText(code, name) ?? ''}</span>
  </span>
)
