// OFAC's list of Specially Designated Nationals in the Advanced XML format, read as it streams by:
// the file is far larger than what is kept of it. Addresses are features of parties; programmes
// come later in the file, by the party's profile.

import { SaxesParser, type SaxesTagPlain } from 'saxes'
import { refusal } from '../../lib/fault.ts'
import { Collected, type ListReader } from './list_entries.ts'

const FEATURE = /^\s*Digital Currency Address\b/i

/** The SanctionsType of a measure whose comment is a programme. */
const PROGRAMME_TYPE = '1'

class Listing {
  private readonly feature_types = new Set<string>()
  private readonly found: { profile: string; address: string; line: number }[] = []
  private readonly programmes = new Map<string, Set<string>>()
  private readonly path: SaxesTagPlain[] = []
  private text = ''
  /** Of the profile and of the entry that is being read. */
  private profile = ''
  private entry_profile = ''
  seen_root = false

  open(tag: SaxesTagPlain): void {
    this.path.push(tag)
    this.text = ''
    const { name, attributes } = tag
    if (name === 'Sanctions') this.seen_root = true
    if (name === 'Profile') this.profile = attributes.ID ?? ''
    if (name === 'SanctionsEntry') this.entry_profile = attributes.ProfileID ?? ''
  }

  write(text: string): void {
    this.text += text
  }

  /** `line`: where the parser is. */
  close(line: number): void {
    const tag = this.path.pop()
    const text = this.text.trim()
    this.text = ''
    if (tag?.name === 'FeatureType' && FEATURE.test(text))
      this.feature_types.add(tag.attributes.ID ?? '')
    else if (tag?.name === 'VersionDetail' && text !== '' && this.isAddress()) {
      this.found.push({ profile: this.profile, address: text, line })
    } else if (tag?.name === 'Comment' && text !== '' && this.isProgramme())
      this.noteProgramme(text)
  }

  /** Whether what is open is a feature of a type that holds addresses. */
  private isAddress(): boolean {
    const feature = this.path.findLast(({ name }) => name === 'Feature')
    return feature !== undefined && this.feature_types.has(feature.attributes.FeatureTypeID ?? '')
  }

  private isProgramme(): boolean {
    const measure = this.path.at(-1)
    return (
      measure?.name === 'SanctionsMeasure' && measure.attributes.SanctionsTypeID === PROGRAMME_TYPE
    )
  }

  private noteProgramme(name: string): void {
    const known = this.programmes.get(this.entry_profile)
    if (known) known.add(name)
    else this.programmes.set(this.entry_profile, new Set([name]))
  }

  collected(): Collected {
    const collected = new Collected()
    for (const { profile, address, line } of this.found) {
      const entry = {
        category: 'sanctions',
        entity: `SDN ${profile}`,
        kind: 'authority',
        confidence: 100,
        reference: [...(this.programmes.get(profile) ?? [])].sort().join(' '),
        valid_from: undefined,
        valid_to: undefined,
      } as const
      collected.add(address, entry, `line ${line}`)
    }
    return collected
  }
}

const notTheList = (broken: Error | undefined) =>
  refusal(`This is not the SDN list${broken ? `: ${broken.message.replace(/\.$/, '')}` : ''}.`)

export const readSdn: ListReader = async (bytes) => {
  const parser = new SaxesParser({ xmlns: false })
  const listing = new Listing()
  const decoder = new TextDecoder()
  let broken: Error | undefined
  parser.on('error', (error) => {
    broken ??= error
  })
  parser.on('opentag', (tag) => listing.open(tag as SaxesTagPlain))
  parser.on('text', (text) => listing.write(text))
  parser.on('cdata', (text) => listing.write(text))
  parser.on('closetag', () => listing.close(parser.line))
  for await (const chunk of bytes) {
    parser.write(decoder.decode(chunk, { stream: true }))
    if (broken) throw notTheList(broken)
  }
  parser.close()
  if (broken || !listing.seen_root) throw notTheList(broken)
  return listing.collected()
}
