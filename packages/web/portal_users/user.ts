// A user as the wire has it.

import type { Result } from 'penstock-sdk'

export type User = Result<'/v1/users/list'>['items'][number]
export type Role = 'owner' | 'developer' | 'finance' | 'reader'

/** The one that may least is what is usual. */
export const ROLES: readonly Role[] = ['reader', 'finance', 'developer', 'owner']
