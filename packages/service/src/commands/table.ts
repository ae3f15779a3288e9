// Every operation of the operators, in the order in which the command line lists them.

import { checkOperations } from '../aml_operators/checks.ts'
import { entryOperations } from '../aml_operators/entries.ts'
import { indexOperations } from '../aml_operators/index_reach.ts'
import { listOperations } from '../aml_operators/lists.ts'
import { policyOperations } from '../aml_operators/policies.ts'
import { providerOperations } from '../aml_operators/providers.ts'
import { reviewOperations } from '../aml_operators/reviews.ts'
import { watchOperations } from '../aml_operators/watches.ts'
import { backupOperations } from '../database_operators/backups.ts'
import { migrationOperations } from '../database_operators/migrations.ts'
import { reconcileOperations } from '../database_operators/reconciling.ts'
import { restoreOperations } from '../database_operators/restores.ts'
import { roleOperations } from '../database_operators/roles.ts'
import { bookOperations } from '../money_operators/books.ts'
import { approvalOperations, correctionOperations } from '../money_operators/corrections.ts'
import { databaseOperations } from '../money_operators/database_losses.ts'
import { invoiceOperations } from '../money_operators/invoices.ts'
import { proofOperations } from '../money_operators/proofs.ts'
import { receiptOperations } from '../money_operators/receipts.ts'
import type { Operation } from '../operation/operation.ts'
import { customerOperations, limitOperations } from '../operators/customers.ts'
import { depositWalletOperations } from '../operators/deposit_wallet.ts'
import { depositOperations } from '../operators/deposits.ts'
import { findOperations } from '../operators/find.ts'
import { keyOperations } from '../operators/keys.ts'
import { eventOperations, noticeOperations } from '../operators/notices.ts'
import {
  chainOperations,
  delegationOperations,
  orderOperations,
  subscriptionOperations,
} from '../operators/orders.ts'
import { priceOperations, serviceOperations } from '../operators/prices.ts'
import { processOperations } from '../operators/processes.ts'
import {
  actionOperations,
  figureOperations,
  signerOperations,
  statusOperations,
} from '../operators/status.ts'
import { walletOperations } from '../operators/wallets.ts'
import { webhookOperations } from '../operators/webhooks.ts'
import { brandOperations } from '../page_operators/brand.ts'
import { incidentOperations } from '../page_operators/incidents.ts'
import { statusPageOperations } from '../page_operators/status_page.ts'
import { operatorOperations, sessionOperations, userOperations } from '../user_operators/users.ts'

export const OPERATIONS: readonly Operation[] = [
  ...statusOperations,
  ...findOperations,
  ...processOperations,
  ...actionOperations,
  ...figureOperations,
  ...customerOperations,
  ...correctionOperations,
  ...limitOperations,
  ...keyOperations,
  ...approvalOperations,
  ...invoiceOperations,
  ...receiptOperations,
  ...priceOperations,
  ...serviceOperations,
  ...orderOperations,
  ...proofOperations,
  ...delegationOperations,
  ...depositOperations,
  ...subscriptionOperations,
  ...chainOperations,
  ...signerOperations,
  ...walletOperations,
  ...depositWalletOperations,
  ...listOperations,
  ...checkOperations,
  ...entryOperations,
  ...reviewOperations,
  ...watchOperations,
  ...policyOperations,
  ...providerOperations,
  ...indexOperations,
  ...bookOperations,
  ...databaseOperations,
  ...migrationOperations,
  ...backupOperations,
  ...restoreOperations,
  ...reconcileOperations,
  ...roleOperations,
  ...webhookOperations,
  ...noticeOperations,
  ...eventOperations,
  ...incidentOperations,
  ...statusPageOperations,
  ...brandOperations,
  ...userOperations,
  ...operatorOperations,
  ...sessionOperations,
]
