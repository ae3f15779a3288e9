// The names under which packages are published: the only place that says them. In the repository
// each is `penstock-NAME`; who publishes them elsewhere changes PREFIX, or gives
// `--prefix @scope/`, and manifests, imports and READMEs follow when they are packed.

import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '../..')

/** The beginning of the workspaces' names. */
const WORKSPACE_PREFIX = 'penstock-'

/** The beginning of the published names: a name and a hyphen, or `@scope/`. */
export const PREFIX = 'penstock-'

/** All packages, in the order in which one needs the other. */
export const PACKAGES = [
  'tron',
  'sdk',
  'cli',
  'devchain',
  'command-line',
  'web',
  'service',
  'playground',
] as const
export type PackageName = (typeof PACKAGES)[number]

export const isPrefix = (text: string) => /^(@[a-z0-9][a-z0-9-]*\/|[a-z0-9][a-z0-9-]*-)$/.test(text)

const NAMED = `${WORKSPACE_PREFIX}(${PACKAGES.join('|')})`

/** The package that a specifier is of, and what of it: `penstock-tron/keys.ts`. Undefined for
 *  packages of others. */
export function ownSpecifier(specifier: string): { name: PackageName; path: string } | undefined {
  const [, name, path = ''] = new RegExp(`^${NAMED}(/.*)?$`).exec(specifier) ?? []
  return name === undefined ? undefined : { name: name as PackageName, path }
}

/** Names of packages in a text, and of the files that they are packed into, as they are published;
 *  commands keep theirs. */
export function publishedText(text: string, prefix: string): string {
  const packed = prefix.replace('@', '').replace('/', '-')
  return text
    .replace(new RegExp(`\\b${NAMED}(-\\d+\\.\\d+\\.\\d+\\.tgz)`, 'g'), `${packed}$1$2`)
    .replace(new RegExp(`(?<!npx )\\b${NAMED}(?=['"\`/\\s])`, 'g'), `${prefix}$1`)
}
