// Rows of history in files that others have written: Parquet, CSV with a line of names, and JSON, a
// line each; the last two may be packed with gzip. The meaning of a row is defined elsewhere.

import { open } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import zlib from 'node:zlib'
import {
  type AsyncBuffer,
  type Compressors,
  type FileMetaData,
  parquetMetadataAsync,
  parquetReadObjects,
} from 'hyparquet'
import { errorText, Refused, refusal } from '../../lib/fault.ts'
import { csvRecords } from '../labels/csv.ts'

/** The value of a field of a row, as its file has it. */
export type FieldValue = string | number | bigint | boolean | Date | null | undefined

/** A row by the names of its columns; `row` counts from 1, without the line of names. */
export type HistoryRow = { row: number; fields: Readonly<Record<string, FieldValue>> }

/** The rows of a file, some at once. Throws Refused when it is none of these, or is not whole. */
export async function* historyRows(path: string): AsyncGenerator<readonly HistoryRow[]> {
  try {
    const name = path.replace(/\.gz$/i, '').toLowerCase()
    if (name.endsWith('.parquet')) yield* parquetRows(path)
    else if (name.endsWith('.csv')) yield* csvRows(bytesOf(path))
    else if (/\.(nd)?jsonl?$/.test(name)) yield* jsonRows(bytesOf(path))
    else throw refusal('its name ends with none of .parquet, .csv, .ndjson, .jsonl (and .gz).')
  } catch (thrown) {
    if (thrown instanceof Refused) throw thrown
    throw refusal(`it cannot be read: ${errorText(String((thrown as Error).message ?? thrown))}.`)
  }
}

async function* bytesOf(path: string): AsyncGenerator<Uint8Array> {
  const file = await open(path)
  const read = file.createReadStream({ highWaterMark: 1 << 18 })
  const bytes = path.toLowerCase().endsWith('.gz')
    ? pipeline(read, zlib.createGunzip(), () => {})
    : read
  let last: number | undefined
  for await (const chunk of bytes as AsyncIterable<Uint8Array>) {
    last = chunk.at(-1) ?? last
    yield chunk
  }
  // Where the last line is cut, a number in it can look whole.
  if (last !== undefined && last !== 10)
    throw refusal('its last line does not end: the file is cut off.')
}

async function* csvRows(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<readonly HistoryRow[]> {
  let names: string[] | undefined
  let row = 0
  for await (const records of csvRecords(bytes)) {
    const rows: HistoryRow[] = []
    for (const { line, fields } of records) {
      if (!names) {
        names = fields
        continue
      }
      if (fields.length !== names.length)
        throw refusal(`line ${line}: it has ${fields.length} fields of ${names.length}.`)
      row += 1
      rows.push({ row, fields: Object.fromEntries(names.map((name, i) => [name, fields[i]])) })
    }
    yield rows
  }
}

async function* jsonRows(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<readonly HistoryRow[]> {
  const decoder = new TextDecoder()
  let rest = ''
  let row = 0
  for await (const chunk of bytes) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop()!
    const rows: HistoryRow[] = []
    for (const line of lines) {
      if (line.trim() === '') continue
      row += 1
      rows.push({ row, fields: jsonFields(line, row) })
    }
    yield rows
  }
}

/** As JSON.parse calls it; compilers do not know yet that it tells the text of a number. */
type Reviver = (name: string, value: unknown, at?: { source?: string }) => unknown

/** Whole numbers above 2^53 keep their digits. */
const keepingDigits: Reviver = (_name, value, at) =>
  typeof value === 'number' && /^\d{16,}$/.test(at?.source ?? '') ? BigInt(at!.source!) : value

function jsonFields(line: string, row: number): HistoryRow['fields'] {
  try {
    const read: unknown = JSON.parse(line, keepingDigits)
    if (typeof read === 'object' && read !== null && !Array.isArray(read))
      return read as HistoryRow['fields']
  } catch {
    // The same sentence.
  }
  throw refusal(`row ${row}: it is no object of JSON.`)
}

/** The packings that Node knows; Snappy is read by the package itself. */
const COMPRESSORS: Compressors = {
  GZIP: (input) => zlib.gunzipSync(input),
  ZSTD: (input) => zlib.zstdDecompressSync(input),
  BROTLI: (input) => zlib.brotliDecompressSync(input),
}

/** Rows that are made at once. */
const ROWS = 20_000

async function* parquetRows(path: string): AsyncGenerator<readonly HistoryRow[]> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    const buffer: AsyncBuffer = {
      byteLength: size,
      async slice(start, end = size) {
        const bytes = new Uint8Array(Math.min(end, size) - start)
        const { bytesRead } = await file.read(bytes, 0, bytes.length, start)
        if (bytesRead < bytes.length) throw refusal('it is cut off.')
        return bytes.buffer
      },
    }
    const metadata = await parquetMetadataAsync(buffer)
    yield* parquetGroups(buffer, metadata)
  } finally {
    await file.close()
  }
}

/** Group of rows by group: what the file's writer packed together is unpacked together. */
async function* parquetGroups(
  file: AsyncBuffer,
  metadata: FileMetaData,
): AsyncGenerator<readonly HistoryRow[]> {
  let first = 0
  for (const { num_rows } of metadata.row_groups) {
    const end = first + Number(num_rows)
    const how = { file, metadata, rowStart: first, rowEnd: end, compressors: COMPRESSORS }
    const rows = (await parquetReadObjects(how)) as HistoryRow['fields'][]
    for (let at = 0; at < rows.length; at += ROWS) {
      const from = first + at
      yield rows.slice(at, at + ROWS).map((fields, i) => ({ row: from + i + 1, fields }))
    }
    first = end
  }
}
