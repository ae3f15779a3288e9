// Loaded before a program (`--import`): it starts as if there were no pages to put together. What
// is left of them is what is served without a build.

import { registerHooks } from 'node:module'

const NOTHING =
  'export const openBuild = () => new Promise(() => {}); export const DIST = ""; ' +
  'export const buildAhead = openBuild'

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'penstock-web/build/store.ts'
      ? { url: `data:text/javascript,${encodeURIComponent(NOTHING)}`, shortCircuit: true }
      : next(specifier, context),
})
