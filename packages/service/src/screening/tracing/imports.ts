// Which of the log came from files, and whose: what answers say of their history.

import { createHash } from 'node:crypto'
import type { Sql, Tx } from '../../platform/database/sql.ts'

/** History of one source, as answers name it; `sha256` is of its files', the newest first. */
export type ImportSource = {
  source: string
  first_block: number
  last_block: number
  files: number
  sha256: string
}

export type ImportedFile = {
  source: string
  file: string
  sha256: string
  first_number: number
  last_number: number
  transfers: bigint
  compared: number
}

export async function noteImport(
  tx: Tx,
  file: ImportedFile,
  { at, by }: { at: Date; by: string },
): Promise<void> {
  const { source, sha256, first_number, last_number, transfers, compared } = file
  await tx`
    insert into flow_import (source, file, sha256, first_number, last_number, transfers, compared,
      imported_at, imported_by)
    values (${source}, ${file.file}, ${sha256}, ${first_number}, ${last_number}, ${transfers},
      ${compared}, ${at}, ${by})`
}

/** The files whose blocks lie in the log from a block on, the newest first. */
export async function importedFiles(sql: Sql | Tx, from: number): Promise<ImportedFile[]> {
  const rows = await sql<
    Omit<ImportedFile, 'first_number' | 'last_number'> & {
      first_number: bigint
      last_number: bigint
    }
  >`
    select source, file, sha256, first_number, last_number, transfers, compared from flow_import
    where last_number >= ${from} order by first_number desc`
  return rows.map((row) => ({
    ...row,
    first_number: Number(row.first_number),
    last_number: Number(row.last_number),
  }))
}

/** The same by source, the newest first. */
export async function importedFrom(sql: Sql | Tx, from: number): Promise<ImportSource[]> {
  const files = Map.groupBy(await importedFiles(sql, from), ({ source }) => source)
  return [...files].map(([source, of]) => ({
    source,
    first_block: Math.min(...of.map((one) => one.first_number)),
    last_block: Math.max(...of.map((one) => one.last_number)),
    files: of.length,
    sha256: createHash('sha256')
      .update(of.map((one) => one.sha256).join('\n'))
      .digest('hex'),
  }))
}
