// The languages that people are spoken to in: each has a folder of words in shared/languages.

export const LANGUAGES = ['en', 'zh', 'ru'] as const
export type Language = (typeof LANGUAGES)[number]
