// Every operation of the operators, in the order in which the command line lists them.

import { archiveOperations } from './chain/archive.ts'
import { walletOperations } from './chain/wallets.ts'
import { backupOperations } from './database/backups.ts'
import { databaseOperations } from './database/database_losses.ts'
import { migrationOperations } from './database/migrations.ts'
import { reconcileOperations } from './database/reconciling.ts'
import { restoreOperations } from './database/restores.ts'
import { roleOperations } from './database/roles.ts'
import { eventOperations, noticeOperations } from './events/notices.ts'
import { webhookOperations } from './events/webhooks.ts'
import { bookOperations } from './health/books.ts'
import { brandOperations } from './health/brand.ts'
import { configurationOperations } from './health/configuration.ts'
import { incidentOperations } from './health/incidents.ts'
import { processOperations } from './health/processes.ts'
import { riskOperations } from './health/risk.ts'
import {
  actionOperations,
  figureOperations,
  signerOperations,
  statusOperations,
} from './health/status.ts'
import { statusPageOperations } from './health/status_page.ts'
import { stepOperations } from './health/steps.ts'
import {
  chainOperations,
  delegationOperations,
  orderOperations,
  subscriptionOperations,
} from './market/orders.ts'
import { priceRuleOperations } from './market/price_rules.ts'
import { priceOperations, serviceOperations } from './market/prices.ts'
import { proofOperations } from './market/proofs.ts'
import { receiptOperations } from './market/receipts.ts'
import { customerOperations, limitOperations } from './people/customers.ts'
import { findOperations } from './people/find.ts'
import { keyOperations } from './people/keys.ts'
import { noteOperations } from './people/notes.ts'
import { customerDataOperations, userDataOperations } from './people/personal.ts'
import { signUpOperations } from './people/sign_ups.ts'
import { operatorOperations, sessionOperations, userOperations } from './people/users.ts'
import { caseOperations } from './screening/cases.ts'
import { checkOperations } from './screening/checks.ts'
import { counterpartyOperations } from './screening/counterparties.ts'
import { depositAddressOperations } from './screening/deposits.ts'
import { entryOperations } from './screening/entries.ts'
import { indexOperations } from './screening/index_reach.ts'
import { listOperations } from './screening/lists.ts'
import { policyOperations } from './screening/policies.ts'
import { providerOperations } from './screening/providers.ts'
import { reportOperations } from './screening/reports.ts'
import { reviewOperations } from './screening/reviews.ts'
import { watchOperations } from './screening/watches.ts'
import type { Operation } from './table/operation.ts'
import { accountOperations } from './treasury/accounts.ts'
import { collectingOperations } from './treasury/collecting.ts'
import { collectionEnergyOperations } from './treasury/collection_energy.ts'
import { approvalOperations, correctionOperations } from './treasury/corrections.ts'
import { depositWalletOperations } from './treasury/deposit_wallet.ts'
import { depositOperations } from './treasury/deposits.ts'
import { earningOperations } from './treasury/earnings.ts'
import { invoiceOperations } from './treasury/invoices.ts'
import { voteOperations } from './treasury/votes.ts'

export const OPERATIONS: readonly Operation[] = [
  ...statusOperations,
  ...configurationOperations,
  ...riskOperations,
  ...findOperations,
  ...processOperations,
  ...stepOperations,
  ...actionOperations,
  ...figureOperations,
  ...customerOperations,
  ...correctionOperations,
  ...limitOperations,
  ...noteOperations,
  ...customerDataOperations,
  ...signUpOperations,
  ...keyOperations,
  ...approvalOperations,
  ...invoiceOperations,
  ...earningOperations,
  ...receiptOperations,
  ...priceOperations,
  ...priceRuleOperations,
  ...serviceOperations,
  ...orderOperations,
  ...proofOperations,
  ...delegationOperations,
  ...depositOperations,
  ...collectingOperations,
  ...collectionEnergyOperations,
  ...voteOperations,
  ...accountOperations,
  ...subscriptionOperations,
  ...chainOperations,
  ...archiveOperations,
  ...signerOperations,
  ...walletOperations,
  ...depositWalletOperations,
  ...listOperations,
  ...checkOperations,
  ...entryOperations,
  ...counterpartyOperations,
  ...depositAddressOperations,
  ...reviewOperations,
  ...caseOperations,
  ...reportOperations,
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
  ...userDataOperations,
  ...operatorOperations,
  ...sessionOperations,
]
