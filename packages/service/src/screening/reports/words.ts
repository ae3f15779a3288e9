// The words of a report for paper, in the language of who reads it. Categories, levels and bars
// have the names that the pages of the portal give them.

import type { Language } from 'penstock-web/build/languages.ts'
import en_codes from 'penstock-web/shared/languages/en/codes.json' with { type: 'json' }
import en_report from 'penstock-web/shared/languages/en/report.json' with { type: 'json' }
import ru_codes from 'penstock-web/shared/languages/ru/codes.json' with { type: 'json' }
import ru_report from 'penstock-web/shared/languages/ru/report.json' with { type: 'json' }
import zh_codes from 'penstock-web/shared/languages/zh/codes.json' with { type: 'json' }
import zh_report from 'penstock-web/shared/languages/zh/report.json' with { type: 'json' }
import { escaped } from '../../lib/html.ts'
import en from './en.json' with { type: 'json' }
import ru from './ru.json' with { type: 'json' }
import zh from './zh.json' with { type: 'json' }

type Key = keyof typeof en
type Catalogue = Readonly<Record<string, string>>

const CATALOGUES: Readonly<Record<Language, { paper: Catalogue; names: Catalogue }>> = {
  en: { paper: en, names: { ...en_codes, ...en_report } },
  zh: { paper: zh, names: { ...zh_codes, ...zh_report } },
  ru: { paper: ru, names: { ...ru_codes, ...ru_report } },
}

export type Words = {
  language: Language
  /** HTML. Parameters are HTML already: what came from outside is escaped before. */
  say(key: Key, parameters?: Readonly<Record<string, string>>): string
  /** The name of a code, as `category.mixer`; undefined where it has none. */
  nameOf(family: 'category' | 'level' | 'barred' | 'direction', code: string): string | undefined
  /** A sentence of the portal's page of a check. */
  shared(
    key: 'score' | 'limit_blocks' | 'limit_owners' | 'limit_services' | 'limit_ways',
    parameters?: Parameters,
  ): string
}
type Parameters = Readonly<Record<string, string>>

const fill = (text: string, parameters: Parameters): string =>
  text.replace(/\{(\w+)\}/g, (_whole, name: string) => parameters[name] ?? '')

export function wordsOf(language: Language): Words {
  const { paper, names } = CATALOGUES[language]
  return {
    language,
    say: (key, parameters = {}) => fill(paper[key]!, parameters),
    nameOf: (family, code) => names[`${family}.${code}`],
    shared: (key, parameters = {}) => fill(names[`check.${key}`]!, parameters),
  }
}

/** The name of a category; of one without a name its code. HTML. */
export const categoryName = ({ nameOf }: Words, code: string): string =>
  escaped(nameOf('category', code) ?? code.replaceAll('_', ' '))
