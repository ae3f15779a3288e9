// Files that are made in the browser.

type Cell = string | number | null | undefined

/** Lines of a table, as RFC 4180 has them. A cell that a spreadsheet would take for a formula is
 *  led by an apostrophe: customers' own ids stand in it. */
export function csvOf(columns: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return [columns, ...rows].map((row) => `${row.map(cellText).join(',')}\r\n`).join('')
}

function cellText(cell: Cell): string {
  if (typeof cell === 'number') return String(cell)
  const text = /^[=+\-@\t\r]/.test(cell ?? '') ? `'${cell}` : (cell ?? '')
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Gives the browser a file to keep. */
export function saveFile(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}

/** The first rows of a list, `most` of them at most; `more`: it has others. `onPage` is called with
 *  the count so far. */
export async function firstRows<Row>(
  pages: AsyncIterable<readonly Row[]>,
  most: number,
  onPage: (count: number) => void,
): Promise<{ rows: Row[]; more: boolean }> {
  const rows: Row[] = []
  for await (const page of pages) {
    rows.push(...page)
    onPage(Math.min(rows.length, most))
    if (rows.length > most) return { rows: rows.slice(0, most), more: true }
  }
  return { rows, more: false }
}

/** The lines of a file: names, and the others. */
export type Sheet = { columns: readonly string[]; cells: readonly (readonly Cell[])[] }

/** Rows as they are on the wire: a column for each field, those of parts by their path, such as
 *  `params.address`. Lists stay JSON. */
export function flatRows(rows: readonly unknown[]): Sheet {
  const flat = rows.map((row) => new Map(fieldsOf(row)))
  const columns = [...new Set(flat.flatMap((row) => [...row.keys()]))]
  return { columns, cells: flat.map((row) => columns.map((column) => row.get(column) ?? null)) }
}

function fieldsOf(value: unknown, path = ''): [string, string | number | null][] {
  if (value === null || typeof value === 'number' || typeof value === 'string')
    return [[path, value]]
  if (typeof value !== 'object' || Array.isArray(value)) return [[path, JSON.stringify(value)]]
  return Object.entries(value).flatMap(([name, part]) =>
    fieldsOf(part, path === '' ? name : `${path}.${name}`),
  )
}
