// What a browser says of the one in front of it: language and theme, by a choice that was kept in a
// cookie, else by what the browser prefers. Nothing of it is trusted with anything else.

import type { IncomingHttpHeaders } from 'node:http'
import { LANGUAGES, type Language } from 'penstock-web/build/languages.ts'

export type Visitor = { language: Language; theme: 'light' | 'dark' | null }

export function visitorOf(headers: IncomingHttpHeaders): Visitor {
  const theme = cookie(headers, 'penstock-theme')
  return {
    language:
      languageOf(cookie(headers, 'penstock-language')) ??
      preferred(headers['accept-language'] ?? ''),
    theme: theme === 'light' || theme === 'dark' ? theme : null,
  }
}

const languageOf = (text: string | undefined): Language | undefined =>
  LANGUAGES.find((language) => language === text)

/** The value of a cookie; undefined when there is none. */
function cookie({ cookie = '' }: IncomingHttpHeaders, name: string): string | undefined {
  for (const one of cookie.split(';')) {
    const [found, value] = one.trim().split('=', 2)
    if (found === name) return value
  }
  return undefined
}

/** The language that is preferred most of those there are: `ru-RU,ru;q=0.9,en;q=0.5`. */
function preferred(accepted: string): Language {
  const wanted = accepted
    .slice(0, 200)
    .split(',')
    .map((one) => {
      const [tag = '', q = 'q=1'] = one.trim().split(';')
      const weight = Number(/^\s*q=([\d.]+)$/.exec(q)?.[1] ?? 0)
      return { language: languageOf(tag.toLowerCase().split('-')[0]), weight }
    })
    .filter(({ language, weight }) => language !== undefined && weight > 0)
  const [best] = wanted.sort((a, b) => b.weight - a.weight)
  return best?.language ?? 'en'
}
