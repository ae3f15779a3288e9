// OFAC's lists, that of Specially Designated Nationals and the Consolidated one, in the Advanced
// XML format. Addresses are features of parties; programmes come later in the file, by the party's
// profile.

import { Collected, type ListReader } from './list_entries.ts'
import { readXml, type Tag } from './xml.ts'

const FEATURE = /^\s*Digital Currency Address\b/i

/** The SanctionsType of a measure whose comment is a programme. */
const PROGRAMME_TYPE = '1'

class Listing {
  private readonly feature_types = new Set<string>()
  private readonly found: { profile: string; address: string; line: number }[] = []
  private readonly programmes = new Map<string, Set<string>>()
  private readonly path: Tag[] = []
  /** Of the profile and of the entry that is being read. */
  private profile = ''
  private entry_profile = ''

  open(tag: Tag): void {
    this.path.push(tag)
    const { name, attributes } = tag
    if (name === 'Profile') this.profile = attributes.ID ?? ''
    if (name === 'SanctionsEntry') this.entry_profile = attributes.ProfileID ?? ''
  }

  close(tag: Tag, text: string, line: number): void {
    this.path.pop()
    if (tag.name === 'FeatureType' && FEATURE.test(text))
      this.feature_types.add(tag.attributes.ID ?? '')
    else if (tag.name === 'VersionDetail' && text !== '' && this.isAddress()) {
      this.found.push({ profile: this.profile, address: text, line })
    } else if (tag.name === 'Comment' && text !== '' && this.isProgramme()) this.noteProgramme(text)
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

export const readOfac: ListReader = async (bytes) => {
  const listing = new Listing()
  await readXml(bytes, {
    what: "one of OFAC's lists",
    root: 'Sanctions',
    open: (tag) => listing.open(tag),
    close: (tag, text, line) => listing.close(tag, text, line),
  })
  return listing.collected()
}
