// The columns by which rows of a table are read, named once beside the type of the row. Statements
// name every column that they answer with: a prepared statement that asks for whatever columns
// there are (`*`) is refused by the server as soon as a migration adds one.

/** Stands in a template for a list of columns: `select ${ORDER_COLUMNS} from orders`, and after the
 *  name of a table for those of that table: `select o.${ORDER_COLUMNS} from orders as o`. */
export class Columns {
  readonly names: readonly string[]

  constructor(names: readonly string[]) {
    this.names = names
  }

  /** The list, each of them of `table` where one is named. */
  text(table?: string): string {
    return this.names.map((name) => (table === undefined ? name : `${table}.${name}`)).join(', ')
  }
}

/** Exactly the fields of a row: it does not compile when one is missing or is none of them. */
type AllOf<Row, Names extends readonly string[]> = [Exclude<keyof Row, Names[number]>] extends [
  never,
]
  ? unknown
  : { missing: Exclude<keyof Row, Names[number]> }

export const columnsOf =
  <Row>() =>
  <const Names extends readonly (keyof Row & string)[]>(names: Names & AllOf<Row, Names>) =>
    new Columns(names)

/** A template with its lists of columns written out: the parts of its text between the other
 *  values, and which values those are. Undefined when it has no lists. */
export function writeOutColumns(
  strings: readonly string[],
  values: readonly unknown[],
): { strings: string[]; kept: number[] } | undefined {
  if (!values.some((value) => value instanceof Columns)) return undefined
  const written = [strings[0]!]
  const kept: number[] = []
  values.forEach((value, i) => {
    const after = strings[i + 1]!
    const last = written.length - 1
    if (value instanceof Columns) {
      const [, before, table] = /^(.*?)(?:(\w+)\.)?$/s.exec(written[last]!)!
      written[last] = before + value.text(table) + after
    } else {
      kept.push(i)
      written.push(after)
    }
  })
  return { strings: written, kept }
}
