// All commands, in the order in which --help lists them.

import { ACCOUNT } from '../access/account.ts'
import type { Command } from '../line/command.ts'
import { completionCommands } from './completion.ts'
import { DOCTOR } from './doctor.ts'
import { EVENTS } from './events.ts'
import { ORDERS } from './orders.ts'
import { PLAIN } from './plain.ts'
import { RAW } from './raw.ts'
import { STATEMENT } from './statement.ts'
import { TRIGGER } from './trigger.ts'

export const COMMANDS: readonly Command[] = [
  ...ACCOUNT,
  ...DOCTOR,
  ...ORDERS,
  ...PLAIN,
  ...STATEMENT,
  ...EVENTS,
  ...TRIGGER,
  ...RAW,
  ...completionCommands(() => COMMANDS),
]
