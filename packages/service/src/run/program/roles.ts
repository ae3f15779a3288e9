// What a process of the service does.

import type { Step } from '../../platform/steps/step.ts'

export const PROCESS_ROLES = ['api', 'worker', 'index', 'console', 'all'] as const
export type ProcessRole = (typeof PROCESS_ROLES)[number]

/** Whether a process has a screening index, or leaves what reads one to `--role index`. */
export const INDEXES = ['own', 'none'] as const
export type IndexPlace = (typeof INDEXES)[number]

/** Whether customers reach it. */
export const hasApi = (role: ProcessRole): boolean => role === 'api' || role === 'all'
/** Whether it signs. */
export const hasKeys = (role: ProcessRole): boolean => role === 'worker' || role === 'all'
/** Whether it runs steps: see `runsStep`. */
export const hasSteps = (role: ProcessRole): boolean => hasKeys(role) || role === 'index'
/** Whether operators reach it, when its port is not off. */
export const hasConsole = (role: ProcessRole): boolean => role === 'console' || role === 'all'
/** Whether customers or operators call it, who prove who they are. */
export const hasCallers = (role: ProcessRole): boolean => hasApi(role) || hasConsole(role)

type Parts = { role: ProcessRole; index: IndexPlace }

/** Whether it computes a screening index. */
export const hasIndex = ({ role, index }: Parts): boolean =>
  role === 'index' || (hasKeys(role) && index === 'own')

/** Whether a process that runs steps runs this one. Blocks are read beside the index: deposits are
 *  not booked before it is known where they came from, if the policy wants that. Nothing of it is
 *  signed. */
export function runsStep({ role, index }: Parts, { duty, reads_index }: Step<string>): boolean {
  const is_of_index = reads_index === true || duty === 'blocks'
  return is_of_index ? hasIndex({ role, index }) : role !== 'index'
}
