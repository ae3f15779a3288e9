// The words of buying without an account: loaded with its page.

import { addWords, spokenLanguage } from '../../shared/words/words.ts'

const CATALOGUES = {
  en: () => import('../../shared/languages/en/recharge.json'),
  zh: () => import('../../shared/languages/zh/recharge.json'),
  ru: () => import('../../shared/languages/ru/recharge.json'),
}

const load = CATALOGUES[spokenLanguage() as keyof typeof CATALOGUES] ?? CATALOGUES.en
addWords((await load()).default)
