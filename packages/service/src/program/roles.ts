// What a process of the service does.

export const ROLES = ['api', 'worker', 'console', 'all'] as const
export type Role = (typeof ROLES)[number]

/** Whether customers reach it. */
export const hasApi = (role: Role): boolean => role === 'api' || role === 'all'
/** Whether it runs the steps, and signs. */
export const hasSteps = (role: Role): boolean => role === 'worker' || role === 'all'
/** Whether operators reach it, when its port is not off. */
export const hasConsole = (role: Role): boolean => role === 'console' || role === 'all'
