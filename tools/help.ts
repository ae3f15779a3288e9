// The help of a program of the repository: the comment that its file begins with, so that
// there is one text to keep true.

import { readFileSync } from 'node:fs'

export const asksForHelp = (word: string | undefined) => word === '--help' || word === '-h'

/** The lines of a file's first comment, without their marks. */
export function leadingComment(path: string): string {
  const lines = readFileSync(path, 'utf8').split('\n')
  const end = lines.findIndex((line) => !line.startsWith('//'))
  return `${lines
    .slice(0, end)
    .map((line) => line.replace(/^\/\/ ?/, ''))
    .join('\n')}\n`
}
