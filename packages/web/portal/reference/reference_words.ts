// The words of the reference: loaded with its pages, so that the first page does not wait for them.

import { addWords, spokenLanguage } from '../../shared/words/words.ts'

const CATALOGUES = {
  en: () => import('../../shared/languages/en/reference.json'),
  zh: () => import('../../shared/languages/zh/reference.json'),
  ru: () => import('../../shared/languages/ru/reference.json'),
}

const load = CATALOGUES[spokenLanguage() as keyof typeof CATALOGUES] ?? CATALOGUES.en
addWords((await load()).default)
