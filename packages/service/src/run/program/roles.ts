// What a process of the service does.

export const PROCESS_ROLES = ['api', 'worker', 'console', 'all'] as const
export type ProcessRole = (typeof PROCESS_ROLES)[number]

/** Whether customers reach it. */
export const hasApi = (role: ProcessRole): boolean => role === 'api' || role === 'all'
/** Whether it runs the steps, and signs. */
export const hasSteps = (role: ProcessRole): boolean => role === 'worker' || role === 'all'
/** Whether operators reach it, when its port is not off. */
export const hasConsole = (role: ProcessRole): boolean => role === 'console' || role === 'all'
/** Whether customers or operators call it, who prove who they are. */
export const hasCallers = (role: ProcessRole): boolean => hasApi(role) || hasConsole(role)
