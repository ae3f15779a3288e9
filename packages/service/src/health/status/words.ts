// The words of the status page, which the server itself says: no script does it in the browser.

import type { Language } from 'penstock-web/build/languages.ts'
import en from './en.json' with { type: 'json' }
import ru from './ru.json' with { type: 'json' }
import zh from './zh.json' with { type: 'json' }

type Key = keyof typeof en
type Parameters = Readonly<Record<string, string | number>>

const CATALOGUES: Readonly<Record<Language, Readonly<Record<string, string>>>> = { en, zh, ru }

export type Words = {
  say(key: Key, parameters?: Parameters): string
  /** A whole number as it is written there. */
  count(number: number): string
  /** A share from 0 to 1, rounded down: nothing is whole that is not. */
  percent(share: number): string
  /** A duration: `300 ms`, `2.5 s`, `5 min`. */
  duration(ms: number): string
}

const MS_OF_SECOND = 1_000
const MS_OF_MINUTE = 60_000

export function wordsOf(language: Language): Words {
  const catalogue = CATALOGUES[language]
  const numbers = new Intl.NumberFormat(language)
  const say = (key: Key, parameters: Parameters = {}): string =>
    catalogue[key]!.replace(/\{(\w+)\}/g, (_whole, name: string) => {
      const value = parameters[name] ?? ''
      return typeof value === 'number' ? numbers.format(value) : value
    })
  return {
    say,
    count: (number) => numbers.format(number),
    percent: (share) => `${numbers.format(Math.floor(share * 10_000) / 100)} %`,
    duration(ms) {
      if (ms < MS_OF_SECOND) return say('ms', { n: ms })
      return ms < 3 * MS_OF_MINUTE
        ? say('s', { n: ms / MS_OF_SECOND })
        : say('min', { n: ms / MS_OF_MINUTE })
    },
  }
}
