// The releases of CHANGELOG.md, and whether they fit the migrations. A release has its changes,
// then `### Upgrade` and `### Way back`. The first line of *Upgrade* says which migrations it
// brings, once it is released; *Way back* names those that end it.

import type { Migration } from '../../packages/service/src/platform/database/migrations.ts'

export type Release = {
  /** Undefined: what is not released yet. */
  version: string | undefined
  upgrade: string | undefined
  way_back: string | undefined
}

type Kind = Pick<Migration, 'number' | 'kind'>

const HEADING = /^## (?:Unreleased|(\d+\.\d+\.\d+), \d{4}-\d\d-\d\d)$/m

const part = (text: string, title: string) =>
  new RegExp(`^### ${title}\\n+([\\s\\S]*?)(?=^#|(?![\\s\\S]))`, 'm').exec(text)?.[1]?.trim()

/** The releases, the newest first. */
export function readChangelog(text: string): Release[] {
  const [, ...parts] = text.split(new RegExp(HEADING.source, 'gm'))
  return parts.flatMap((version, i) => {
    if (i % 2 === 1) return []
    const body = parts[i + 1] ?? ''
    return [{ version, upgrade: part(body, 'Upgrade'), way_back: part(body, 'Way back') }]
  })
}

/** The first line of *Upgrade*: the migrations after those of the release before. */
export function migrationsLine(before: number, last: number): string {
  return last === before ? 'No migrations.' : `Migrations ${before + 1} to ${last}.`
}

/** The contradictions between text and migrations, a sentence for each. */
export function changelogFaults(text: string, migrations: readonly Kind[]): string[] {
  const faults: string[] = []
  let before = 0
  const newest = migrations.at(-1)?.number ?? 0
  for (const [i, { version, upgrade, way_back }] of readChangelog(text).reverse().entries()) {
    const name = version ?? 'Unreleased'
    if (!upgrade) faults.push(`${name} does not say how to upgrade`)
    if (!way_back) faults.push(`${name} does not say which way leads back`)
    const [, last] = /^Migrations \d+ to (\d+)\.$/m.exec(upgrade ?? '') ?? []
    const end = version === undefined ? newest : Number(last ?? before)
    const line = migrationsLine(before, end)
    const said = upgrade?.split('\n')[0]
    if (version !== undefined && upgrade && said !== line)
      faults.push(`${name} says "${said}", and it is "${line}"`)
    if (end > newest) faults.push(`${name} has migrations that there are not`)
    const since = before
    const contracts = migrations.filter(
      ({ number, kind }) => kind === 'contract' && number > since && number <= end,
    )
    // There is nothing that the first one could go back to.
    for (const { number } of i === 0 ? [] : contracts)
      if (!new RegExp(`\\b${number}\\b`).test(way_back ?? ''))
        faults.push(`${name} does not say that migration ${number} ends the way back`)
    before = end
  }
  return faults
}

/** The text with what was not released yet as a release, which says its migrations. Throws a
 *  sentence when there is nothing to release. */
export function released(
  text: string,
  { version, day, migrations }: { version: string; day: string; migrations: readonly Kind[] },
): string {
  const [newest, last] = readChangelog(text)
  if (!newest || newest.version !== undefined)
    throw new Error('CHANGELOG.md has nothing to release.')
  const [, number = 0] = /^Migrations \d+ to (\d+)\.$/m.exec(last?.upgrade ?? '') ?? []
  const line = migrationsLine(Number(number), migrations.at(-1)?.number ?? 0)
  return text
    .replace(/^## Unreleased$/m, `## ${version}, ${day}`)
    .replace(/^### Upgrade\n\n/m, `### Upgrade\n\n${line}\n\n`)
}
