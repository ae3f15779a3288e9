// The words of the reference: loaded with its pages, so that the first page does not wait for them.

import { addWords, spokenLanguage } from '../words/words.ts'

const CATALOGUES = {
  en: () => import('../languages/en/reference.json'),
  zh: () => import('../languages/zh/reference.json'),
  ru: () => import('../languages/ru/reference.json'),
}

const load = CATALOGUES[spokenLanguage() as keyof typeof CATALOGUES] ?? CATALOGUES.en
addWords((await load()).default)
