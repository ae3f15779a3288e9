// Long sentences in a terminal.

/** The lines of a text, broken at blanks, and behind a `|` between alternatives. */
export function wrapped(text: string, width = 100): string[] {
  const lines = ['']
  for (const word of text.split(/(?<=[ |])/)) {
    const line = `${lines.at(-1)}${word}`
    if (line.trimEnd().length <= width) lines[lines.length - 1] = line
    else lines.push(word)
  }
  return lines.map((line) => line.trimEnd())
}
