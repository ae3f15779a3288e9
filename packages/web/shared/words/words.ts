// The words of the page in the chosen language. Keys are those of the English catalogues; a plural
// is `key#one`, `key#other` and what else the language has, chosen by the parameter `n`.

import type codes from '../languages/en/codes.json'
import type console from '../languages/en/console.json'
import type frame from '../languages/en/frame.json'
import type portal from '../languages/en/portal.json'
import type recharge from '../languages/en/recharge.json'
import type reference from '../languages/en/reference.json'
import type report from '../languages/en/report.json'
import { nameText } from './name.ts'

type Entry =
  | keyof typeof frame
  | keyof typeof codes
  | keyof typeof portal
  | keyof typeof console
  | keyof typeof recharge
  | keyof typeof reference
  | keyof typeof report

/** What can be said: a key without the form of its plural. */
export type Key = Entry extends infer E ? (E extends `${infer Base}#${string}` ? Base : E) : never

export type Parameters = Readonly<Record<string, string | number>>

let catalogue: Readonly<Record<string, string>> = {}
let language = 'en'
let plurals = new Intl.PluralRules('en')

/** Called once, before anything is drawn. */
export function speak(chosen: string, words: Readonly<Record<string, string>>): void {
  catalogue = words
  language = chosen
  plurals = new Intl.PluralRules(chosen)
}

/** Words that come later, with the pages that say them. */
export function addWords(words: Readonly<Record<string, string>>): void {
  catalogue = { ...catalogue, ...words }
}

export const spokenLanguage = (): string => language

const THIN_SPACE = '\u2009'

/** Digits in groups of three, in every language alike: `65 000`. */
export const inGroups = (digits: string): string => digits.replace(/\B(?=(\d{3})+$)/g, THIN_SPACE)

/** A number as it is written here: `65 000`, `9.5`. */
export const count = (number: number): string => inGroups(String(number))

/** The sentence of a key. Numbers among the parameters are written as they are here. */
export function say(key: Key, parameters: Parameters = {}): string {
  const { n } = parameters
  const form = typeof n === 'number' ? `${key}#${plurals.select(n)}` : key
  return fill(catalogue[form] ?? catalogue[key] ?? key, parameters)
}

/** What a name of the wire is called here, such as a state or a type of event: the key is made of
 *  the family and the name. The name itself when there is no word for it. */
export const named = (family: Family, name: string): string =>
  catalogue[`${family}.${name}`] ?? name

/** The same; undefined when there is no word for it. */
export const nameIfKnown = (family: Family, name: string): string | undefined =>
  catalogue[`${family}.${name}`]

/** A sentence about what the wire names, such as a kind of change; undefined when there is none. */
export function sentenceOf(
  family: Family,
  name: string,
  parameters: Parameters,
): string | undefined {
  const text = catalogue[`${family}.${name}`]
  return text === undefined ? undefined : fill(text, parameters)
}

/** Families of keys that are made while the page runs. */
export const FAMILIES = [
  'alert',
  'barred',
  'bound',
  'call',
  'category',
  'cost',
  'did',
  'direction',
  'duty',
  'entry',
  'event',
  'failure',
  'fee',
  'hint',
  'kept',
  'ledger',
  'level',
  'loot',
  'network',
  'part',
  'purpose',
  'refusal',
  'refused',
  'resource',
  'rest',
  'role',
  'rule',
  'said',
  'scope',
  'service',
  'state',
  'step',
  'thief',
] as const
export type Family = (typeof FAMILIES)[number]

const fill = (text: string, parameters: Parameters): string =>
  text.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = parameters[name]
    if (value === undefined) return whole
    return typeof value === 'number' ? count(value) : nameText(value)
  })
