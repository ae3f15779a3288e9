// What browsers open: the portal, whose pages are one document, the list of these pages, and the
// files they are made of.

import type { Face } from 'penstock-web/build/bundle.ts'
import { LANGUAGES } from 'penstock-web/build/languages.ts'
import { printJson } from '../lib/json.ts'
import type { Page } from '../platform/http/pages.ts'
import { transportRefusal } from '../platform/wire/replies.ts'
import { accentSheet } from './accent.ts'
import type { WebAssets } from './assets.ts'
import type { Brand } from './brand.ts'
import { type Explorer, explorerOf } from './explorer.ts'
import { documentHeaders, shell } from './shell.ts'
import { visitorOf } from './visitor.ts'

export type Web = {
  assets: WebAssets
  /** Where customers reach the API; undefined: nobody has said. */
  public_url: string | undefined
  /** Where one looks at transactions and addresses; undefined: where the network is known for. */
  explorer: Explorer | undefined
  /** Which chain this is; undefined while no node has said. */
  network: () => Promise<string | undefined>
  brand: () => Promise<Brand>
}

/** What browsers open at the customers' port, beside the first page and that of the status. */
export const webPages = (web: Web): Page[] => [
  ...facePages(web, 'portal', "The customers' portal, for a browser"),
  ...publicPages(web),
]

/** Pages of the portal for everybody; who is signed in has its frame around them. */
function publicPages(web: Web): Page[] {
  const handle = faceDocument(web, 'portal')
  const old = '/portal/developers/reference'
  return [
    { path: '/buy', summary: 'Buying energy without an account', handle },
    { path: '/docs', summary: 'The reference, to read and to try', handle },
    { path: '/docs/:name', summary: 'One endpoint of the reference', handle },
    ...(['', '/:name'] as const).map(
      (more): Page => ({
        path: `${old}${more}`,
        summary: 'The reference is at /docs',
        async handle({ request_id, params: { name } }) {
          const location = name === undefined ? '/docs' : `/docs/${encodeURIComponent(name)}`
          return transportRefusal(request_id, 302, { location })
        },
      }),
    ),
  ]
}

/** What they open at the operators' port. `public_url` is that of the console. */
export const consolePages = (web: Web): Page[] => [
  {
    path: '/',
    summary: 'The console is where its pages are',
    async handle({ request_id }) {
      return transportRefusal(request_id, 302, { location: '/console' })
    },
  },
  ...facePages(web, 'console', "The operators' console, for a browser"),
]

function facePages(web: Web, face: Face, summary: string): Page[] {
  const handle = faceDocument(web, face)
  return [
    { path: `/${face}`, summary, handle },
    { path: `/${face}/*`, summary, handle },
    pageList(web.assets, face),
    web.assets.page,
    accentPage(web),
  ]
}

const isHttps = ({ public_url }: Web) => public_url?.startsWith('https:') ?? false

/** Whatever page it is: the program finds out by the address. */
const faceDocument =
  (web: Web, face: Face): Page['handle'] =>
  async ({ headers }) => {
    const visitor = visitorOf(headers)
    const brand = await web.brand()
    const explorer = brand.explorer ?? web.explorer ?? explorerOf(await web.network())
    const body = shell({
      files: await web.assets.face(face),
      visitor,
      brand,
      start: { face, base: `/${face}`, languages: LANGUAGES, explorer },
    })
    return {
      status: 200,
      code: 0,
      body,
      content_type: 'text/html; charset=utf-8',
      headers: documentHeaders({ is_https: isHttps(web) }),
    }
  }

/** The colour of the house, as a style sheet: the policy of the documents takes no other. */
const accentPage = ({ brand }: Web): Page => ({
  path: '/accent.css',
  summary: 'The colour that the house has chosen, for a browser',
  async handle() {
    const { accent } = await brand()
    return {
      status: 200,
      code: 0,
      body: accent === null ? '' : accentSheet(accent),
      content_type: 'text/css; charset=utf-8',
      headers: { 'cache-control': 'public, max-age=15', 'x-content-type-options': 'nosniff' },
    }
  },
})

/** For programs that drive a browser, and for people who want to know what there is. */
const pageList = (assets: WebAssets, face: Face): Page => ({
  path: `/${face}/pages.json`,
  summary: 'The pages of this face, and what one must be able to call to see each',
  async handle() {
    const { pages } = await assets.face(face)
    const headers = { 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' }
    return { status: 200, code: 0, body: printJson(pages), headers }
  },
})
