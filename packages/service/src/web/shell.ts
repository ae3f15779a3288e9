// The document of a face, printed by the server: language, theme, the addresses of its program and
// of its words, and what the program must know to start. Its policy lets nothing run or load but
// our own files, and takes no text for a program.

import type { Language } from 'penstock-web/build/languages.ts'
import { escaped } from '../lib/html.ts'
import type { FaceFiles } from './assets.ts'
import type { Brand } from './brand.ts'
import type { Visitor } from './visitor.ts'

export type ShellInput = {
  files: FaceFiles
  visitor: Visitor
  /** What the program reads, as `StartData` of packages/web. */
  start: Readonly<Record<string, unknown>>
  brand: Brand
}

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "manifest-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

/** For every document that a browser shows with scripts of ours. */
export function documentHeaders({ is_https }: { is_https: boolean }): Record<string, string> {
  return {
    'content-security-policy': POLICY,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy':
      'publickey-credentials-get=(self), publickey-credentials-create=(self), ' +
      'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
    'cache-control': 'no-store',
    ...(is_https && { 'strict-transport-security': 'max-age=31536000' }),
  }
}

const asset = (name: string) => `/assets/${name}`

/** The text of the document. */
export function shell({ files, visitor, start, brand }: ShellInput): string {
  const { language, theme } = visitor
  const words = asset(files.words[language])
  const icons = asset(files.icons)
  const data = JSON.stringify({ ...start, language, theme, brand: brand.name, words, icons })
  const preloads = files.preloads.map((name) => `<link rel="modulepreload" href="${asset(name)}">`)
  return [
    '<!doctype html>',
    `<html lang="${language}"${theme === null ? '' : ` data-theme="${theme}"`}>`,
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="robots" content="noindex">',
    `<meta name="penstock" content="${escaped(data)}">`,
    `<title>${escaped(brand.name)}</title>`,
    '<link rel="icon" href="data:,">',
    styleLinks(files, language),
    accentLink(brand),
    `<link rel="preload" as="fetch" crossorigin href="${words}">`,
    ...preloads,
    `<script type="module" src="${asset(files.script)}"></script>`,
    '</head>',
    '<body>',
    `<div id="root"><header class="top"><span class="brand">${escaped(brand.name)}</span></header>`,
    `<noscript><main><p>${escaped(NEEDS_SCRIPTS[language])}</p></main></noscript></div>`,
    houseFooter(brand, language),
    '</body>',
    '</html>',
    '',
  ].join('\n')
}

const NEEDS_SCRIPTS: Record<Language, string> = {
  en: 'These pages need scripts. Everything in them can also be done over the API.',
  zh: '这些页面需要启用脚本。页面上的所有操作也都可以通过 API 完成。',
  ru: 'Этим страницам нужны скрипты. Всё, что на них есть, можно сделать и через API.',
}

/** The style sheet and its typeface, which is asked for early: a page for which it comes late is
 *  drawn without it, and stays so. */
export const styleLinks = ({ style, fonts }: FaceFiles, language: Language): string =>
  [
    ...fonts[language].map(
      (name) =>
        `<link rel="preload" as="font" type="font/woff2" crossorigin href="${asset(name)}">`,
    ),
    `<link rel="stylesheet" href="${asset(style)}">`,
  ].join('')

const TERMS: Record<Language, string> = { en: 'Terms', zh: '服务条款', ru: 'Условия' }

/** The style sheet with the colour of the house, where it has one of its own. */
export const accentLink = ({ accent }: Brand): string =>
  accent === null ? '' : `<link rel="stylesheet" href="/accent.css?${accent.slice(1)}">`

/** Where help and the terms are; nothing where the house says neither. */
export function houseFooter({ support, terms_url }: Brand, language: Language): string {
  const parts = [
    support === null ? '' : `<span>${escaped(support)}</span>`,
    terms_url === null
      ? ''
      : `<a href="${escaped(terms_url)}" rel="noopener">${TERMS[language]}</a>`,
  ].filter((part) => part !== '')
  return parts.length === 0 ? '' : `<footer class="house">${parts.join(' ')}</footer>`
}
