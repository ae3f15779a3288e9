// The words of the letters, in the languages of the pages.

import type { Letter } from './mailer.ts'

export const LANGUAGES = ['en', 'ru', 'zh'] as const
export type Language = (typeof LANGUAGES)[number]

type Facts = { brand: string; url: string; hours: number }
type Words = { subject: string; lines: readonly string[] }

const FINISH: Record<Language, (facts: Facts) => Words> = {
  en: ({ brand, url, hours }) => ({
    subject: `Finish signing up at ${brand}`,
    lines: [
      `You asked for an account at ${brand}. Open this page to make it:`,
      url,
      `The link works for ${hours} hours. If it was not you who asked, do nothing.`,
    ],
  }),
  ru: ({ brand, url, hours }) => ({
    subject: `Завершите регистрацию в ${brand}`,
    lines: [
      `Вы запросили учётную запись в ${brand}. Откройте эту страницу, чтобы создать её:`,
      url,
      `Ссылка действует ${hours} ч. Если вы ничего не запрашивали, просто не отвечайте.`,
    ],
  }),
  zh: ({ brand, url, hours }) => ({
    subject: `完成 ${brand} 的注册`,
    lines: [
      `您申请了 ${brand} 的账户。请打开此页面完成创建:`,
      url,
      `链接在 ${hours} 小时内有效。如果不是您本人申请,请忽略此邮件。`,
    ],
  }),
}

const KNOWN: Record<Language, (facts: Omit<Facts, 'hours'>) => Words> = {
  en: ({ brand, url }) => ({
    subject: `Your account at ${brand}`,
    lines: [
      `Somebody, probably you, asked for an account at ${brand}. You have one. Sign in here:`,
      url,
      'If you have lost what you sign in with, ask us for a new link.',
    ],
  }),
  ru: ({ brand, url }) => ({
    subject: `Ваша учётная запись в ${brand}`,
    lines: [
      `Кто-то, вероятно вы, запросил учётную запись в ${brand}. Она у вас уже есть. Вход здесь:`,
      url,
      'Если вы потеряли то, чем входите, попросите у нас новую ссылку.',
    ],
  }),
  zh: ({ brand, url }) => ({
    subject: `您在 ${brand} 的账户`,
    lines: [
      `有人(可能是您)申请了 ${brand} 的账户。您已经有一个账户,请在此登录:`,
      url,
      '如果您丢失了登录方式,请向我们索取新的链接。',
    ],
  }),
}

const letterOf = (to: string, { subject, lines }: Words): Letter => ({
  to,
  subject,
  text: `${lines.join('\n\n')}\n`,
})

/** With the link that proves whose e-mail it is. */
export const finishLetter = (to: string, language: Language, facts: Facts): Letter =>
  letterOf(to, FINISH[language](facts))

/** To one who has an account: the page says the same to everybody, so only the letter tells. */
export const knownLetter = (to: string, language: Language, facts: Omit<Facts, 'hours'>): Letter =>
  letterOf(to, KNOWN[language](facts))
