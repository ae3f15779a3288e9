// What a process of the service does.

import type { Step } from '../../platform/steps/step.ts'

export const PROCESS_ROLES = ['api', 'worker', 'index', 'console', 'all'] as const
export type ProcessRole = (typeof PROCESS_ROLES)[number]

/** Whether customers reach it. */
export const hasApi = (role: ProcessRole): boolean => role === 'api' || role === 'all'
/** Whether it runs all steps, but for those that need an index when it has none; and signs. */
export const isWorker = (role: ProcessRole): boolean => role === 'worker' || role === 'all'
/** Whether it runs steps: see `runsStep`. */
export const hasSteps = (role: ProcessRole): boolean => isWorker(role) || role === 'index'
/** Whether operators reach it, when its port is not off. */
export const hasConsole = (role: ProcessRole): boolean => role === 'console' || role === 'all'
/** Whether customers or operators call it, who prove who they are. */
export const hasCallers = (role: ProcessRole): boolean => hasApi(role) || hasConsole(role)

/** Whether a process that runs steps runs this one. */
export const runsStep = (
  { role, has_index }: { role: ProcessRole; has_index: boolean },
  { needs_index }: Step<string>,
): boolean => (needs_index ? has_index : isWorker(role))
