// GraphSense TagPacks (YAML): attribution tags, with defaults for all of them at the top; a file
// can have several packs, as documents of YAML. What a
// tag says about abuse goes before what it says about the kind of service. A tag without a category
// that is known here is passed over.

import { parseAllDocuments } from 'yaml'
import { refusal } from '../../lib/fault.ts'
import { categoryNamed } from '../flow/category_names.ts'
import { Collected, type ListReader, readInstant } from './list_entries.ts'

/** How sure the ways of finding out are, in percent. */
const CONFIDENCES: Readonly<Record<string, number>> = {
  ledger_immanent: 100,
  ownership: 100,
  manual_transaction: 90,
  service_api: 70,
  forensic_investigation: 70,
  authority_data: 60,
  service_data: 50,
  forensic: 50,
  untrusted_transaction: 40,
  web_crawl: 20,
  heuristic: 10,
  unknown: 5,
}

/** YAML is read whole, and takes many times its size while it is. */
const TEXT_MAX = 32_000_000

type Tag = Record<string, unknown>

export const readTagPack: ListReader = async (bytes) => {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of bytes) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length > TEXT_MAX)
      throw refusal('This TagPack has more than 32 million characters: split it.')
  }
  const documents = parseAllDocuments(text + decoder.decode(), { schema: 'core' })
  const collected = new Collected()
  const packs = Array.isArray(documents) ? documents : []
  if (packs.length === 0) throw refusal('This is not a TagPack: it has no tags.')
  for (const [n, document] of packs.entries()) {
    const [broken] = document.errors
    if (broken) throw broken
    const pack: unknown = document.toJS({ maxAliasCount: 1_000 })
    // Between two marks there may be nothing.
    if (pack === null && packs.length > 1) continue
    notePack(collected, pack, packs.length > 1 ? `pack ${n + 1}, ` : '')
  }
  return collected
}

/** `where`: which of several packs of one file it is. */
function notePack(collected: Collected, pack: unknown, where: string): void {
  if (!isTag(pack) || !Array.isArray(pack.tags))
    throw refusal(`${where}This is not a TagPack: it has no tags.`)
  const { tags, ...defaults } = pack
  for (const [i, tag] of tags.entries()) {
    const place = `${where}tag ${i + 1}`
    if (!isTag(tag)) throw refusal(`${place} is not a tag.`)
    noteTag(collected, { ...defaults, ...tag }, place)
  }
}

const isTag = (value: unknown): value is Tag =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function noteTag(collected: Collected, tag: Tag, where: string): void {
  const category = categoryOf(tag)
  if (category === undefined || typeof tag.address !== 'string') {
    collected.passed_over += 1
    return
  }
  const confidence = CONFIDENCES[String(tag.confidence ?? 'unknown')]
  if (confidence === undefined)
    throw refusal(`${where}: there is no confidence "${String(tag.confidence)}".`)
  const entry = {
    category,
    confidence,
    entity: String(tag.actor ?? tag.label ?? 'unnamed'),
    kind: confidence < 20 ? 'heuristic' : 'curated',
    reference: String(tag.source ?? tag.uri ?? ''),
    valid_from: undefined,
    valid_to: readInstant(String(tag.valid_to ?? ''), where),
  } as const
  collected.add(tag.address, entry, where)
}

/** The category of the first name that has one: what is abused, then concepts, then the kind of
 *  service. */
function categoryOf({ abuse, concepts, category }: Tag): string | undefined {
  const names = [abuse, ...(Array.isArray(concepts) ? concepts : []), category]
  return names.flatMap((name) => (typeof name === 'string' ? (categoryNamed(name) ?? []) : []))[0]
}
