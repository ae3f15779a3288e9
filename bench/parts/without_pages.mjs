// Loaded before a program (`--import`): it starts as if the pages could not be put together. What
// is left of them is what is served without a build. They are refused at once: a build that never
// ends would hold up the stop as well, which lets the page of the status be drawn to its end.

import { registerHooks } from 'node:module'

const NOTHING =
  'export const openBuild = () => Promise.reject(new Error("left out")); export const DIST = ""; ' +
  'export const buildAhead = openBuild'

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'penstock-web/build/store.ts'
      ? { url: `data:text/javascript,${encodeURIComponent(NOTHING)}`, shortCircuit: true }
      : next(specifier, context),
})
