// The lists of docs/operators/configuration.md, printed from the table of the configuration.

import { OPTIONS, SETTING_FACTS } from 'penstock-service/settings.ts'
import { filled } from './filled.ts'

/** The type says so already. */
const YES = /^yes: /

const PROCESSES = ['api', 'worker', 'index', 'console']
const NAMES: Record<string, string> = {
  api: 'APIs',
  worker: 'workers',
  index: '`--role index`',
  console: 'consoles',
  commands: 'commands',
}

/** `every process, commands` */
function readersOf(readers: readonly string[]): string {
  const every = PROCESSES.every((one) => readers.includes(one))
  const named = every ? readers.filter((one) => !PROCESSES.includes(one)) : readers
  const words = named.map((one) => NAMES[one] ?? `\`${one}\``)
  return [...(every ? ['every process'] : []), ...words].join(', ')
}

export const printSettings = (): string =>
  SETTING_FACTS.map(([name, { type, help, more, otherwise, read_by, secret }]) => {
    const facts = [
      type,
      ...(otherwise === undefined ? [] : [`without it \`${otherwise}\``]),
      `for ${readersOf(read_by)}`,
      ...(secret ? ['**secret**'] : []),
    ]
    const says = [help.replace(YES, ''), more].filter(Boolean).join('. ')
    return filled(`- \`${name}\` (${facts.join('; ')}): ${says}`, '  ')
  }).join('')

export const printOptions = (): string =>
  Object.entries(OPTIONS)
    .map(([name, { value, help }]) => filled(`- \`${`--${name} ${value}`.trim()}\`: ${help}`, '  '))
    .join('')
