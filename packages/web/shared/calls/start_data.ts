// What the server has printed into the document for this page: where it is, in which language, and
// what there is to choose from.

export type StartData = {
  face: string
  /** Where this face is mounted: `/portal`; `` for one that has a port of its own. */
  base: string
  language: string
  /** Address of the words of that language. */
  words: string
  languages: readonly string[]
  /** Address of the drawings of the icons. */
  icons: string
  theme: 'light' | 'dark' | null
  /** How the house is called. */
  brand: string
  /** Templates of addresses for a transaction and an address; null: nobody explores this chain. */
  explorer: { transaction: string; address: string } | null
}

let known: StartData | undefined

export function startData(): StartData {
  known ??= JSON.parse(
    document.querySelector<HTMLMetaElement>('meta[name=penstock]')!.content,
  ) as StartData
  return known
}

/** Keeps a choice that the server prints into the next page. */
export function choose(what: 'language' | 'theme', value: string): void {
  const secure = location.protocol === 'https:' ? '; Secure' : ''
  // biome-ignore lint/suspicious/noDocumentCookie: the other interface is not in every browser
  document.cookie = `penstock-${what}=${value}; Path=/; Max-Age=31536000; SameSite=Strict${secure}`
}
