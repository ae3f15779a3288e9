// A webhook, what it is told, and a call of it, as the wire has them.

import type { Result } from 'penstock-sdk'

export type Webhook = Result<'/v1/webhook/check'>
export type Notice = Result<'/v1/notices/list'>['items'][number]
export type Call = Result<'/v1/webhook/test'>['call']
