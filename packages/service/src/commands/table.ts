// Every operation of the operators, in the order in which the command line lists them.

import type { Operation } from '../operation/operation.ts'
import { amlOperations } from '../operators/aml.ts'
import {
  correctionOperations,
  customerOperations,
  limitOperations,
} from '../operators/customers.ts'
import { depositOperations } from '../operators/deposits.ts'
import { keyOperations } from '../operators/keys.ts'
import { listOperations } from '../operators/lists.ts'
import { chainOperations, orderOperations, subscriptionOperations } from '../operators/orders.ts'
import { priceOperations, serviceOperations } from '../operators/prices.ts'
import { bookOperations, signerOperations, statusOperations } from '../operators/status.ts'
import { walletOperations } from '../operators/wallets.ts'
import { eventOperations, noticeOperations, webhookOperations } from '../operators/webhooks.ts'

export const OPERATIONS: readonly Operation[] = [
  ...statusOperations,
  ...customerOperations,
  ...correctionOperations,
  ...limitOperations,
  ...keyOperations,
  ...priceOperations,
  ...serviceOperations,
  ...orderOperations,
  ...depositOperations,
  ...subscriptionOperations,
  ...chainOperations,
  ...signerOperations,
  ...walletOperations,
  ...listOperations,
  ...amlOperations,
  ...bookOperations,
  ...webhookOperations,
  ...noticeOperations,
  ...eventOperations,
]
