// CSV as it is mostly written: lines without a quote are cut at their commas, which takes a tenth
// of what a parser takes for them; records with quotes go to the parser, one by one. A list of a
// million labels is read in some seconds. RFC 4180, and besides blanks around fields, empty lines,
// a mark of the byte order, and lines that end with a carriage return alone.

import { parse } from 'csv-parse/sync'
import { refusal } from '../../lib/fault.ts'

/** A record and the line on which it ends. */
export type CsvRecord = { line: number; fields: string[] }

/** A quote that is never closed would take in the rest of the file. */
const RECORD_MAX = 1_000_000

/** The records of a file, as many at once as a chunk of it has. Throws Refused with the line of a
 *  record that cannot be read. */
export async function* csvRecords(
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<readonly CsvRecord[]> {
  const reader = new RecordReader()
  const decoder = new TextDecoder()
  for await (const chunk of bytes) yield reader.read(decoder.decode(chunk, { stream: true }))
  yield reader.end(decoder.decode())
}

class RecordReader {
  private line = 0
  private rest = ''
  /** Lines of a record whose quotes are not closed yet, and the first of them. */
  private open = ''
  private open_line = 0
  private newline: '\n' | '\r' | undefined

  read(text: string): CsvRecord[] {
    const all = this.rest + text
    this.newline ??= newlineOf(all)
    if (this.newline === undefined) {
      this.rest = all
      this.requireShort(all, this.line + 1)
      return []
    }
    const lines = all.split(this.newline)
    this.rest = lines.pop()!
    this.requireShort(this.rest, this.line + 1)
    return this.recordsOf(lines)
  }

  end(text: string): CsvRecord[] {
    const records = this.recordsOf((this.rest + text).split(this.newline ?? /\r\n?|\n/))
    if (this.open !== '') throw refusal(`line ${this.open_line}: a quote is not closed.`)
    return records
  }

  private recordsOf(lines: readonly string[]): CsvRecord[] {
    const records: CsvRecord[] = []
    for (const line of lines) {
      this.line += 1
      const record = this.open === '' ? line : `${this.open}\n${line}`
      if (this.open === '' && !line.includes('"')) {
        if (line !== '' && line.trim() !== '')
          records.push({ line: this.line, fields: line.split(',').map((field) => field.trim()) })
        continue
      }
      this.requireShort(record, this.line)
      // A quote within quotes is written twice.
      if ((record.split('"').length - 1) % 2 === 1) {
        if (this.open === '') this.open_line = this.line
        this.open = record
      } else {
        this.open = ''
        records.push({ line: this.line, fields: this.parsed(record) })
      }
    }
    return records
  }

  private parsed(record: string): string[] {
    try {
      const [fields] = parse(record, { trim: true, relax_column_count: true }) as string[][]
      return fields ?? []
    } catch (thrown) {
      throw refusal(`line ${this.line}: ${(thrown as Error).message.replace(/ at line \d+/, '')}.`)
    }
  }

  /** `line`: where it starts, unless a record is open. */
  private requireShort(text: string, line: number): void {
    if (text.length <= RECORD_MAX) return
    const first = this.open === '' ? line : this.open_line
    throw refusal(`line ${first}: it is longer than any record of a list.`)
  }
}

/** How lines end; undefined when that is not seen yet. */
function newlineOf(text: string): '\n' | '\r' | undefined {
  const at = text.search(/[\r\n]/)
  if (at < 0 || (text[at] === '\r' && at === text.length - 1)) return undefined
  return text[at] === '\r' && text[at + 1] !== '\n' ? '\r' : '\n'
}
