// The files of the pages, from memory. They are put together beside the start of the service, and
// whoever asks before that is done waits for it. Their names carry the hash of what is in them:
// a browser keeps them for ever.

import type { Build, Face, FaceAssets } from 'penstock-web/build/bundle.ts'
import { openBuild } from 'penstock-web/build/store.ts'
import { type Log, thrownFields } from '../lib/log.ts'
import { acceptsEncoding, type Page } from '../platform/http/pages.ts'
import { type Answer, pageRefusal } from '../platform/wire/replies.ts'

/** The names of the files of a face. */
export type FaceFiles = FaceAssets & Pick<Build, 'style' | 'icons' | 'fonts'>

export type WebAssets = {
  /** Throws what went wrong when they were put together. */
  face(face: Face): Promise<FaceFiles>
  /** Answers `/assets/:file`. */
  page: Page
}

const KEPT = {
  'cache-control': 'public, max-age=31536000, immutable',
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  vary: 'accept-encoding',
}

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  json: 'application/json; charset=utf-8',
  svg: 'image/svg+xml; charset=utf-8',
  woff2: 'font/woff2',
}

/** Begins to put the files together, or finds them in the folder. Answers before that is done. */
export function openAssets(folder: string, log: Log): WebAssets {
  const opened = openBuild(folder).then(({ build, origin }) => {
    log('pages_ready', { origin, sources: build.sources_sha256, files: build.assets.length })
    return { build, files: new Map(build.assets.map((asset) => [asset.name, asset])) }
  })
  opened.catch((thrown: unknown) => log('pages_not_built', thrownFields(thrown)))
  return {
    async face(face) {
      const { build } = await opened
      const { style, icons, fonts } = build
      return { ...build.faces[face], style, icons, fonts }
    },
    page: {
      path: '/assets/:file',
      summary: 'A file of the pages',
      async handle({ params, request_id, headers }) {
        const { files } = await opened
        const file = files.get(params.file!)
        if (!file) return pageRefusal(request_id, 404, 'There is no such file')
        return encoded(file, String(headers['accept-encoding'] ?? ''))
      },
    },
  }
}

/** The file as the browser takes it. */
function encoded({ name, bytes, gzip, brotli }: Build['assets'][number], accepted: string): Answer {
  const [encoding, body] = acceptsEncoding(accepted, 'br')
    ? ['br', brotli]
    : acceptsEncoding(accepted, 'gzip')
      ? ['gzip', gzip]
      : [undefined, bytes]
  const headers = encoding === undefined ? KEPT : { ...KEPT, 'content-encoding': encoding }
  const content_type = TYPES[name.split('.').at(-1)!]!
  return { status: 200, code: 0, body, content_type, headers }
}
