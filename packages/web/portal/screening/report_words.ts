// The words of a check's page: loaded with it, so that the first page does not wait for them.

import { addWords, spokenLanguage } from '../../shared/words/words.ts'

const CATALOGUES = {
  en: () => import('../../shared/languages/en/report.json'),
  zh: () => import('../../shared/languages/zh/report.json'),
  ru: () => import('../../shared/languages/ru/report.json'),
}

const load = CATALOGUES[spokenLanguage() as keyof typeof CATALOGUES] ?? CATALOGUES.en
addWords((await load()).default)
