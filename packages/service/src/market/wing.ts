// The market: what is sold, delivered and taken back.

import type { Node } from '../chain/node/node.ts'
import type { Reads } from '../chain/reads/reads.ts'
import type { ReceiverReader } from '../chain/receivers/receivers.ts'
import type { Wallets } from '../chain/wallets/wallet_file.ts'
import type { Common } from '../platform/wing.ts'
import { endingStep, remindStep, solidifyStep } from './history/reminders.ts'
import { routes as historyRoutes } from './history/routes.ts'
import { activatedStep, activateStep, delegateStep } from './orders/delivery.ts'
import { orderKinds } from './orders/forms.ts'
import { orderPlacer } from './orders/placing.ts'
import { routes as orderRoutes } from './orders/routes.ts'
import { endStep, settleStep } from './orders/settlement.ts'
import { activationsLeft } from './pool/activations.ts'
import { reclaimedStep, reclaimStep } from './pool/delegations.ts'
import { surveyStep } from './pool/pool.ts'
import { priceKinds } from './prices/forms.ts'
import { repriceStep } from './prices/price_rules.ts'
import { priceReader } from './prices/prices.ts'
import { routes as priceRoutes } from './prices/routes.ts'
import { forecastRoute } from './quotes/forecast.ts'
import { pruneQuotesStep } from './quotes/quotes.ts'
import { quoteRoutes } from './quotes/routes.ts'
import { keyPage, receiptRoutes } from './receipts/routes.ts'
import { withdrawSupplyStep } from './subscriptions/ending.ts'
import { subscriptionKinds } from './subscriptions/forms.ts'
import { routes as subscriptionRoutes, useRoutes } from './subscriptions/routes.ts'
import { supplyStep } from './subscriptions/supply.ts'
import { confirmUsesStep, useStep } from './subscriptions/uses.ts'

type Needs = Common & {
  node: Node
  reads: Reads
  receiver: ReceiverReader
  wallets: Wallets
  /** Who issues receipts: the name and version of the service. */
  service: string
}

export const MARKET_STEPS = {
  survey: 'Asks the chain what each wallet of the pool can still deliver',
  activate: 'Asks for the transactions that create accounts for orders',
  activated: 'Notes which accounts were created, and which could not be',
  delegate: 'Picks wallets with room for paid orders, and asks for their transactions',
  settle: 'Ends orders: captures what was delivered, gives back the price of what was not',
  reclaim: 'Asks for the transactions that take stake back when its hour is over',
  reclaimed: 'Notes what was taken back',
  end: 'Tells of orders of which the last part was taken back',
  remind: 'Tells of orders that are open for long, and what each waits for',
  solidify: 'Tells of orders of which every part is irreversible',
  remind_endings: 'Tells of orders whose hour is over soon',
  use: 'Counts what the addresses of subscriptions have used, block by block',
  confirm_uses: 'Looks at what was used again when its block is confirmed',
  supply: 'Orders for the addresses of subscriptions what they lack',
  withdraw_supply: 'Takes back what subscriptions have that have ended or rest',
  reprice: 'Raises prices by their rules: to a floor by cost, and as the pool fills',
  prune_quotes: 'Forgets quotes that were not used, an hour after their end',
}
declare module '../platform/steps/step.ts' {
  interface StepNames extends Record<keyof typeof MARKET_STEPS, string> {}
}

export function marketWing({ sql: long_sql, steps_sql, api_sql: sql, ...needs }: Needs) {
  const { clock, new_id, seal, node, wallets, network, service } = needs
  const prices = priceReader({ sql, clock, activationsLeft })
  const { placeOrder } = orderPlacer({ ...needs, sql, prices })
  // What the service orders for itself, which the API's role may not.
  const { tryOrder } = orderPlacer({ ...needs, sql: long_sql, prices })
  const selling = { ...needs, sql, prices, placeOrder }
  const delivering = {
    sql: steps_sql,
    clock,
    new_id,
    permissions: new Map(wallets.pool.map((wallet) => [wallet.address, wallet.permission_id])),
  }
  const activating = { ...delivering, node, activation_wallet: wallets.activation }
  const pool = wallets.pool.map((wallet) => wallet.address)
  return {
    endpoints: [
      ...orderRoutes(selling),
      ...subscriptionRoutes(selling),
      ...historyRoutes({ sql, clock }),
      ...useRoutes({ sql }),
      ...priceRoutes({ sql }),
      ...quoteRoutes(selling),
      forecastRoute({ sql, prices }),
      ...receiptRoutes({ sql, clock, seal, network, service }),
    ],
    pages: [keyPage({ sql, seal })],
    kinds: [...orderKinds, ...subscriptionKinds, ...priceKinds],
    // In the order in which an order meets them.
    steps: [
      surveyStep({ sql: steps_sql, node, pool, activation_wallet: wallets.activation }),
      activateStep(activating),
      activatedStep(activating),
      delegateStep(delivering),
      settleStep(delivering),
      reclaimStep(delivering),
      reclaimedStep(delivering),
      endStep(delivering),
      remindStep(delivering),
      solidifyStep(delivering),
      endingStep(delivering),
      useStep({ sql: steps_sql, clock }),
      confirmUsesStep({ sql: steps_sql, clock }),
      supplyStep({ sql: steps_sql, clock, node, tryOrder }),
      withdrawSupplyStep({ sql: steps_sql, clock }),
      repriceStep({ sql: long_sql, clock }),
      pruneQuotesStep({ sql: long_sql, clock }),
    ],
    prices,
    tryOrder,
  }
}
