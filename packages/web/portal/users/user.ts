// A user as the wire has it.

import type { Result } from 'penstock-sdk'

export type User = Result<'/v1/users/list'>['items'][number]
