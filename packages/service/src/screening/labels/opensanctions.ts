// OpenSanctions' entities as lines of JSON: those of the schema CryptoWallet. The dataset says who
// listed the address and so what it is and how far it goes: a government's list bars, a
// researcher's list informs.

import { refusal } from '../../lib/fault.ts'
import { Collected, type ListEntry, type ListReader, linesOf } from './list_entries.ts'

type Wallet = { id: string; addresses: string[]; datasets: string[]; topics: string[] }

export const readOpenSanctions: ListReader = async (bytes) => {
  const collected = new Collected()
  let line_number = 0
  for await (const line of linesOf(bytes)) {
    line_number += 1
    if (line.trim() === '') continue
    const wallet = walletOf(line, line_number)
    if (!wallet) continue
    for (const address of wallet.addresses)
      collected.add(address, entryOf(wallet), `line ${line_number}`)
  }
  if (line_number === 0) throw refusal('This is not a file of OpenSanctions: it is empty.')
  return collected
}

function walletOf(line: string, line_number: number): Wallet | undefined {
  const entity = parsed(line, line_number)
  if (entity.schema !== 'CryptoWallet') return undefined
  const properties = (entity.properties ?? {}) as Record<string, unknown>
  return {
    id: String(entity.id ?? ''),
    addresses: texts(properties.publicKey),
    datasets: texts(entity.datasets),
    topics: texts(properties.topics),
  }
}

function parsed(line: string, line_number: number): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line)
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  } catch {
    // The same sentence as for JSON that is not an entity.
  }
  throw refusal(`line ${line_number} is not an entity.`)
}

const texts = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []

/** Datasets that are lists of governments. Others count as research. */
const AUTHORITIES = /^(us_ofac|il_mod|eu_|gb_|ua_|ca_|au_|ch_seco|jp_mof|un_sc|fr_|be_|nz_)/

const TOPICS: readonly (readonly [RegExp, string])[] = [
  [/^crime\.terror/, 'terrorism_financing'],
  [/^crime\.(fraud|boss)/, 'scam'],
  [/^crime\.theft/, 'stolen_coins'],
  [/^crime\.traffick\.drug/, 'dark_market'],
  [/^sanction/, 'sanctions'],
  [/^crime/, 'illegal_service'],
]

function entryOf({ id, datasets, topics }: Wallet): Omit<ListEntry, 'address'> {
  const authority = datasets.some((dataset) => AUTHORITIES.test(dataset))
  return {
    category: categoryOf(datasets, topics, authority),
    entity: id,
    kind: authority ? 'authority' : 'curated',
    confidence: authority ? 100 : 60,
    reference: datasets.join(' '),
    valid_from: undefined,
    valid_to: undefined,
  }
}

function categoryOf(
  datasets: readonly string[],
  topics: readonly string[],
  authority: boolean,
): string {
  if (datasets.some((dataset) => dataset.startsWith('il_mod'))) return 'terrorism_financing'
  if (datasets.includes('ransomwhere')) return 'ransom'
  for (const [topic, category] of TOPICS) if (topics.some((one) => topic.test(one))) return category
  return authority ? 'sanctions' : 'enforcement_action'
}
