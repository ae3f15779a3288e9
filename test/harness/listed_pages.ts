// The pages of a face that need no id, as it lists them itself.

/** Paths; those that a link alone opens are left out. */
export async function listedPages(origin: string, face: 'portal' | 'console'): Promise<string[]> {
  const answer = await fetch(`${origin}/${face}/pages.json`)
  const pages = (await answer.json()) as { path: string }[]
  return pages.map(({ path }) => path).filter((path) => !/:|\/join$/.test(path))
}
