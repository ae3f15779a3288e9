// A key as the wire has it.

import type { Result } from 'penstock-sdk'

export type Key = Result<'/v1/keys/list'>['items'][number]
