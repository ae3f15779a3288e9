// What a call of a program was refused for, in words: by the key of the refusal, else by its code.
// What the pages' own calls are refused for is said otherwise, because a person is signed in there.

import { nameIfKnown } from './words.ts'

export const refusedText = (code: number, key: string): string | undefined =>
  nameIfKnown('refused', key) ?? nameIfKnown('refused', String(code))
