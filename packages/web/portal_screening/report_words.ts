// The words of a check's page: loaded with it, so that the first page does not wait for them.

import { addWords, spokenLanguage } from '../words/words.ts'

const CATALOGUES = {
  en: () => import('../languages/en/report.json'),
  zh: () => import('../languages/zh/report.json'),
  ru: () => import('../languages/ru/report.json'),
}

const load = CATALOGUES[spokenLanguage() as keyof typeof CATALOGUES] ?? CATALOGUES.en
addWords((await load()).default)
