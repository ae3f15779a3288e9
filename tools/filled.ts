// Text of a printed page, in lines as long as they may be.

const COLUMNS = 100

/** Lines after the first begin with the indentation. */
export function filled(text: string, indentation: string): string {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(/(?<=\S) /)) {
    if (line !== '' && line.length + 1 + word.length > COLUMNS) {
      lines.push(line)
      line = `${indentation}${word}`
    } else line = line === '' ? word : `${line} ${word}`
  }
  return `${[...lines, line].join('\n')}\n`
}
