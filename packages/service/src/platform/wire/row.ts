// A row of a table, described once: the type that statements answer with, the columns by which it
// is read, and the fields of which the replies about it are picked.

import type { Static, TObject, TProperties } from 'typebox'
import { Columns } from '../database/columns.ts'

/** `fields`: the schema of each column as it is in memory: whole numbers that may be large are
 *  `Whole` or `Sun`, times are `Moment`; see schemas.ts. */
export function row<const Fields extends TProperties>(fields: Fields) {
  return {
    fields,
    /** `select ${Key.columns} from api_key`. */
    columns: new Columns(Object.keys(fields)),
    /** Some of the fields, for a reply. */
    pick<const Name extends keyof Fields & string>(...names: Name[]): Pick<Fields, Name> {
      return Object.fromEntries(names.map((name) => [name, fields[name]])) as Pick<Fields, Name>
    },
  }
}

/** What a statement answers with. */
export type RowOf<Row extends { fields: TProperties }> = Static<TObject<Row['fields']>>

/** The fields of a form and no others, in its order. */
export const picked = <Form extends TObject>(form: Form, from: Static<Form>): Static<Form> =>
  Object.fromEntries(
    Object.keys(form.properties).map((name) => [name, (from as Record<string, unknown>)[name]]),
  ) as Static<Form>
