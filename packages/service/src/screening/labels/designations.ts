// Official lists of persons and other parties that have no field for addresses on chains: OFSI's
// (United Kingdom), the European Union's, the United Nations'. What they know of addresses stands
// in their remarks, among words. An entry carries the number of the listing and its regime, never
// the name. A list that names parties and no address of this network is read all the same.

import { refusal } from '../../lib/fault.ts'
import { csvRecords } from './csv.ts'
import { Collected, type ListEntry, type ListReader } from './list_entries.ts'
import { columnName, field, type TableRow } from './tables.ts'
import { nameOf, readXml, type Tag } from './xml.ts'

const listed = (entity: string, reference: string): Omit<ListEntry, 'address'> => ({
  category: 'sanctions',
  entity,
  kind: 'authority',
  confidence: 100,
  reference,
  valid_from: undefined,
  valid_to: undefined,
})

const OFSI_REMARKS = 'other_information'
const OFSI_NUMBERS = ['group_id', 'ofsi_group_id', 'unique_id']

/** The header of OFSI's table stands below a line with the date of the list. */
async function* ofsiRows(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<TableRow> {
  let header: string[] | undefined
  for await (const records of csvRecords(bytes))
    for (const { line, fields: cells } of records) {
      if (header === undefined) {
        const names = cells.map(columnName)
        if (names.includes(OFSI_REMARKS) && OFSI_NUMBERS.some((name) => names.includes(name)))
          header = names
        else if (line > 2)
          throw refusal(`line ${line}: there are no columns "Other Information" and "Group ID".`)
        continue
      }
      if (cells.length !== header.length)
        throw refusal(`line ${line}: it has ${cells.length} columns, and not ${header.length}.`)
      yield { line, fields: Object.fromEntries(header.map((name, i) => [name, cells[i]!])) }
    }
  if (header === undefined) throw refusal("This is not OFSI's list: it has no header.")
}

/** OFSI's consolidated list, and the UK Sanctions List, as CSV. Each party has many rows. */
export const readOfsi: ListReader = async (bytes) => {
  const collected = new Collected()
  const parties = new Set<string>()
  for await (const row of ofsiRows(bytes)) {
    const number = field(row, ...OFSI_NUMBERS)
    if (number === '') throw refusal(`line ${row.line}: there is no Group ID.`)
    parties.add(number)
    const entry = listed(`OFSI ${number}`, field(row, 'regime', 'regime_name'))
    collected.addFrom(field(row, OFSI_REMARKS), entry, `line ${row.line}`)
  }
  collected.designations = parties.size
  return collected
}

/** Reads a document of parties, each one element, with the texts inside of it. */
async function readParties(
  bytes: AsyncIterable<Uint8Array>,
  list: {
    what: string
    root: string
    parties: readonly string[]
    /** Notes what names a party: an element that has opened or closed inside of it. */
    note: (party: Party, tag: Tag, text: string) => void
    entryOf: (party: Party) => Omit<ListEntry, 'address'>
  },
): Promise<Collected> {
  const collected = new Collected()
  let party: Party | undefined
  collected.designations = 0
  await readXml(bytes, {
    what: list.what,
    root: list.root,
    open(tag) {
      if (list.parties.includes(nameOf(tag))) party = { number: '', regimes: new Set(), texts: [] }
      if (!party) return
      list.note(party, tag, '')
    },
    close(tag, text, line) {
      if (!party) return
      list.note(party, tag, text)
      const { attributes } = tag
      for (const one of [text, ...Object.values(attributes)]) party.texts.push({ text: one, line })
      if (!list.parties.includes(nameOf(tag))) return
      if (party.number === '') throw refusal(`line ${line}: a party without its number.`)
      for (const { text, line } of party.texts)
        collected.addFrom(text, list.entryOf(party), `line ${line}`)
      collected.designations! += 1
      party = undefined
    },
  })
  if (collected.designations === 0) throw refusal(`This is not ${list.what}: it names nobody.`)
  return collected
}

type Party = { number: string; regimes: Set<string>; texts: { text: string; line: number }[] }

/** The European Union's consolidated financial sanctions, as XML (1.1). */
export const readEu: ListReader = (bytes) =>
  readParties(bytes, {
    what: "the European Union's list",
    root: 'export',
    parties: ['sanctionEntity'],
    note(party, tag) {
      const { euReferenceNumber, logicalId, programme } = tag.attributes
      if (nameOf(tag) === 'sanctionEntity') party.number = euReferenceNumber || (logicalId ?? '')
      if (nameOf(tag) === 'regulation' && programme) party.regimes.add(programme)
    },
    entryOf: ({ number, regimes }) => listed(`EU ${number}`, [...regimes].sort().join(' ')),
  })

/** The consolidated list of the United Nations' Security Council, as XML. */
export const readUn: ListReader = (bytes) =>
  readParties(bytes, {
    what: "the United Nations' list",
    root: 'CONSOLIDATED_LIST',
    parties: ['INDIVIDUAL', 'ENTITY'],
    note(party, tag, text) {
      if (nameOf(tag) === 'REFERENCE_NUMBER' && text !== '') party.number = text
      if (nameOf(tag) === 'UN_LIST_TYPE' && text !== '') party.regimes.add(text)
    },
    entryOf: ({ number, regimes }) => listed(`UN ${number}`, [...regimes].sort().join(' ')),
  })
