// The treasury: deposits, corrections by hand, invoices.

import type { Node } from '../chain/node/node.ts'
import type { Wallets } from '../chain/wallets/wallet_file.ts'
import type { OrderPlacer } from '../market/orders/placing.ts'
import type { Prices } from '../market/prices/prices.ts'
import type { Needs as OfPapers } from '../people/users/papers.ts'
import type { Common } from '../platform/wing.ts'
import type { HeldSenders } from '../screening/engine/barred.ts'
import type { Issuers } from '../screening/engine/issuers.ts'
import type { MoneyReader } from '../screening/engine/money.ts'
import { energizeStep } from './collecting/energy.ts'
import { collectedStep, expireStep } from './collecting/settling.ts'
import { routes as correctionRoutes } from './corrections/routes.ts'
import { arriveStep, creditStep, DUST_SUN } from './deposits/deposit_step.ts'
import { depositKinds } from './deposits/forms.ts'
import { holdingsStep } from './deposits/holdings.ts'
import { pages as depositPages } from './deposits/pages.ts'
import { rechargedStep, rechargeStep, refundedStep, refundStep } from './deposits/recharges.ts'
import { routes as depositRoutes } from './deposits/routes.ts'
import { screenDepositsStep } from './deposits/screenings.ts'
import { invoiceKinds } from './invoices/forms.ts'
import { issueInvoicesStep } from './invoices/issuing.ts'
import { invoicePages } from './invoices/pages.ts'
import { routes as invoiceRoutes } from './invoices/routes.ts'
import { CLAIM_MIN_SUN, claimedStep, claimStep, votedStep, voteStep } from './votes/voting.ts'

export type TreasurySetup = {
  /** When a direct recharge is acted on: when a block has it, or when that block is solid. */
  recharge_at: 'inclusion' | 'solid'
  /** What would be held for the operator is ignored when it is less than this; DUST_SUN when left
   *  out. */
  dust_sun?: bigint | undefined
  /** What votes have earned is withdrawn when it is this much; CLAIM_MIN_SUN when left out. */
  claim_min_sun?: bigint | undefined
}

type Needs = Common &
  TreasurySetup & {
    node: Node
    wallets: Wallets
    prices: () => Promise<Prices>
    tryOrder: OrderPlacer['tryOrder']
    heldSenders: HeldSenders
    issuers: Issuers
    money: MoneyReader
    readers: OfPapers
  }

export const TREASURY_STEPS = {
  credit: 'Credits deposits of confirmed blocks, and books what came for direct recharge',
  arrive: 'Notes deposits that a block has and that are not solid yet',
  holdings: 'Asks the chain what lies on the addresses where deposits arrive',
  screen_deposits: 'Looks at where the money of deposits came from',
  collected: 'Books what was collected from deposit addresses',
  expire_collections: 'Notes which transfers of collections can never get into a block any more',
  energize: 'Orders energy of our pool for tokens that are to be collected',
  recharge: 'Places the orders of direct recharges, or sends them back',
  recharged: 'Notes which direct recharges were delivered',
  refund: 'Asks for the transactions that send recharges back',
  refunded: 'Notes what was sent back',
  vote: 'Asks for the votes of wallets, when the plan or their stake has changed',
  voted: 'Notes which votes were cast',
  claim: 'Asks for the transactions that withdraw what votes have earned',
  claimed: 'Books what was withdrawn',
  issue_invoices: 'Issues the invoices of the months that are over',
}
declare module '../platform/steps/step.ts' {
  interface StepNames extends Record<keyof typeof TREASURY_STEPS, string> {}
}

export function treasuryWing({ sql, steps_sql, api_sql, dust_sun = DUST_SUN, ...needs }: Needs) {
  const { claim_min_sun = CLAIM_MIN_SUN } = needs
  const { clock, node, wallets, prices, readers, about } = needs
  const { recharge_address, refund: refund_wallet, votes: voters = [] } = wallets
  const deposits = { ...needs, sql: steps_sql, recharge_address, dust_sun }
  const isWitnessed = (tx_id: string) => node.isWitnessed(tx_id)
  const voting = { ...deposits, voters, claim_min_sun }
  const recharges = { ...deposits, refund_wallet, isWitnessed }
  return {
    endpoints: [
      ...correctionRoutes({ sql: api_sql, prices, recharge_address }),
      ...depositRoutes({ sql: api_sql }),
      ...invoiceRoutes({ sql: api_sql }),
    ],
    pages: [
      ...depositPages({ sql: api_sql, clock }),
      ...invoicePages({ sql: api_sql, ...readers }),
    ],
    kinds: [...depositKinds, ...invoiceKinds],
    steps: [
      creditStep(deposits),
      arriveStep(deposits),
      holdingsStep(deposits),
      screenDepositsStep(deposits),
      collectedStep(deposits),
      expireStep(deposits),
      energizeStep(deposits),
      rechargeStep(recharges),
      rechargedStep(recharges),
      refundStep(recharges),
      refundedStep(recharges),
      voteStep(voting),
      votedStep(voting),
      claimStep(voting),
      claimedStep(voting),
      issueInvoicesStep({ sql, clock, issuer: about.issuer }),
    ],
  }
}
