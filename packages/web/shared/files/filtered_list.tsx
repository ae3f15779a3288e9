// A list of the wire with its filter above it and the file of all rows that fit: what is set stands
// in the address, and the list, its pages and the file are of the same.

import type { ComponentChildren } from 'preact'
import { useLocation } from 'preact-iso/router'
import { Empty } from '../parts/answer.tsx'
import {
  type FilterField,
  FilterForm,
  filteredPath,
  filterOf,
  List,
  type ListProps,
} from '../parts/list.tsx'
import { say } from '../words/words.ts'
import { Export, type ExportProps, pagesOfList } from './export.tsx'

export type FilteredListProps<Row> = Omit<ListProps<Row>, 'body' | 'empty'> & {
  /** The page of the list. */
  address: string
  /** Of the address. */
  query: Readonly<Record<string, string>>
  fields: readonly FilterField[]
  /** The filter as the wire takes it; as it is set when left out. */
  bodyOf?: (filter: Readonly<Record<string, string>>) => Record<string, unknown>
  /** The name of the file: `events` becomes `events.csv`. */
  file: string
  sheetOf?: ExportProps<Row>['sheetOf']
  /** Shown where there is nothing at all. */
  none: ComponentChildren
  /** Said where nothing fits the filter. */
  none_filtered?: string
}

export function FilteredList<Row>(props: FilteredListProps<Row>) {
  const { address, query, fields, bodyOf, file, sheetOf, none, ...list } = props
  const { none_filtered = say('list.none_filtered') } = props
  const { url } = useLocation()
  const names = fields.map(({ name }) => name)
  const filter = filterOf(query, names)
  const body = bodyOf?.(filter) ?? filter
  return (
    <>
      <FilterForm fields={fields} filter={filter} path={address} of={list.caption}>
        <Export
          name={file}
          pages={(limit) => pagesOfList<Row>(list.path, body, limit)}
          {...(sheetOf && { sheetOf })}
        />
      </FilterForm>
      <List<Row>
        {...list}
        body={body}
        empty={
          Object.keys(filter).length === 0 ? (
            none
          ) : (
            <Empty>
              <p>{none_filtered}</p>
              <a href={filteredPath({ path: address, url, names }, {})}>{say('filter.clear')}</a>
            </Empty>
          )
        }
      />
    </>
  )
}
