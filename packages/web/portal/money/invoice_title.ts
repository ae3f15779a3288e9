// What an invoice or a credit note is called.

import { say } from '../../shared/words/words.ts'

export const titleOf = ({ kind, number }: { kind: string; number: number }): string =>
  say(kind === 'credit_note' ? 'invoice.credit_note' : 'invoice.title', { number })
