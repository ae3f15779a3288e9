// Loaded before everything else by each process that runs tests against a mutant, and by those that
// it starts: where MUTATION_FILE names a mutant, its module is loaded with the change. What lies on
// the disk is never changed.

import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'

/** The content of MUTATION_FILE, as JSON. */
export type LoadedMutant = {
  /** Absolute. */
  path: string
  start: number
  end: number
  text: string
}

const file = process.env.MUTATION_FILE
if (file !== undefined) {
  const { path, start, end, text }: LoadedMutant = JSON.parse(readFileSync(file, 'utf8'))
  const mutated_url = pathToFileURL(path).href
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context)
      if (url !== mutated_url) return loaded
      const source = readFileSync(path, 'utf8')
      return { ...loaded, source: source.slice(0, start) + text + source.slice(end) }
    },
  })
}
