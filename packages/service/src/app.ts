// The App: every part, given what it needs. This is the only file that sees them all, and the only
// list of every route and every step. Nothing runs here: serve.ts serves the endpoints and starts
// the steps, tests drain them, the simulator runs them one by one.

import type { Address } from 'penstock-tron/address.ts'
import {
  judgeStep,
  type Needs as SignerNeeds,
  sendStep,
  signStep,
} from './chain/follow/attempts.ts'
import { pruneStep } from './chain/follow/blocks.ts'
import { confirmStep } from './chain/follow/confirm.ts'
import { followStep } from './chain/follow/follower.ts'
import type { Node } from './chain/node/node.ts'
import type { FollowedBlocks } from './chain/reads/followed.ts'
import type { Reads } from './chain/reads/reads.ts'
import { followedBlocks } from './chain/receivers/followed_blocks.ts'
import { type ReceiverReader, receiverReader } from './chain/receivers/receivers.ts'
import type { SignatureLog } from './chain/signing/signature_log.ts'
import { localSigner, type Signer } from './chain/signing/signer.ts'
import { type SigningTerms, signingTerms } from './chain/signing/signing_terms.ts'
import type { KeyFindings } from './chain/wallets/permissions.ts'
import { ownAddresses, type Wallets } from './chain/wallets/wallet_file.ts'
import { type WalletWatch, walletWatch } from './chain/wallets/wallet_watch.ts'
import { changeKinds } from './events/log/changes.ts'
import { type EventKind, readableTypes } from './events/log/kinds.ts'
import { EVENT_DAYS, pruneEventsStep } from './events/log/prune.ts'
import { publishStep } from './events/log/publish.ts'
import { eventBodyPrinter, routes as eventRoutes } from './events/log/routes.ts'
import { EventStreams } from './events/log/streams.ts'
import type { Caller } from './events/webhooks/caller.ts'
import { webhookKinds } from './events/webhooks/forms.ts'
import { pruneNoticesStep } from './events/webhooks/notices.ts'
import { notifyStep } from './events/webhooks/notify.ts'
import { webhookRoutes } from './events/webhooks/routes.ts'
import type { BooksSources } from './health/books/books.ts'
import { watchBooksStep } from './health/books/watch.ts'
import { alertKinds } from './health/monitoring/watch_alerts.ts'
import { burnPriceReader } from './health/status/burn_price.ts'
import { statusPages } from './health/status/pages.ts'
import { measureMinutesStep } from './health/uptime/measuring.ts'
import { pruneMetricsStep } from './health/uptime/metrics.ts'
import { attendStep, purchaseCounter } from './health/uptime/presence.ts'
import { sealStep } from './ledger/accounts/journal.ts'
import { noteRootsStep } from './ledger/accounts/roots.ts'
import { routes as statementRoutes } from './ledger/statements/routes.ts'
import { summarizeStep } from './ledger/statements/summaries.ts'
import type { Clock } from './lib/clock.ts'
import { idMaker, type NewId, type Random } from './lib/ids.ts'
import type { Log } from './lib/log.ts'
import { endingStep, remindStep, solidifyStep } from './market/history/reminders.ts'
import { routes as transactionRoutes } from './market/history/routes.ts'
import { activatedStep, activateStep, delegateStep } from './market/orders/delivery.ts'
import { orderKinds } from './market/orders/forms.ts'
import {
  type OrderPlacer,
  type Needs as OrderPlacing,
  orderPlacer,
} from './market/orders/placing.ts'
import { routes as marketRoutes } from './market/orders/routes.ts'
import { endStep, settleStep } from './market/orders/settlement.ts'
import { activationsLeft } from './market/pool/activations.ts'
import { reclaimedStep, reclaimStep } from './market/pool/delegations.ts'
import { surveyStep } from './market/pool/pool.ts'
import { priceKinds } from './market/prices/forms.ts'
import { priceReader } from './market/prices/prices.ts'
import { routes as priceRoutes } from './market/prices/routes.ts'
import { forecastRoute } from './market/quotes/forecast.ts'
import { pruneQuotesStep } from './market/quotes/quotes.ts'
import { quoteRoutes } from './market/quotes/routes.ts'
import { keyPage, receiptRoutes } from './market/receipts/routes.ts'
import { endAll, withdrawSupplyStep } from './market/subscriptions/ending.ts'
import { subscriptionKinds } from './market/subscriptions/forms.ts'
import { routes as subscriptionRoutes, useRoutes } from './market/subscriptions/routes.ts'
import { supplyStep } from './market/subscriptions/supply.ts'
import { useStep } from './market/subscriptions/uses.ts'
import { type DepositAddress, depositAddresses } from './people/customers/deposit_addresses.ts'
import { customerKinds } from './people/customers/forms.ts'
import { authenticator } from './people/keys/authentication.ts'
import { keyKinds } from './people/keys/forms.ts'
import { scopesOfKeys } from './people/keys/keys.ts'
import { lastUses } from './people/keys/last_uses.ts'
import { pruneNonces } from './people/keys/nonces.ts'
import { remindKeysStep } from './people/keys/reminders.ts'
import { keyRoutes } from './people/keys/routes.ts'
import { endPairingsStep } from './people/pairing/pairings.ts'
import { pairingRoutes } from './people/pairing/routes.ts'
import { pruneRefusalsStep, type Refusals, refusalRecorder } from './people/refusals/refusals.ts'
import { routes as refusalRoutes } from './people/refusals/routes.ts'
import { secretReader } from './people/refusals/signature_hint.ts'
import { lowBalanceStep, settingKinds } from './people/settings/low_balance.ts'
import { networkReader } from './people/settings/network_name.ts'
import { routes as settingsRoutes } from './people/settings/routes.ts'
import { totpCodes } from './people/sign_in/codes.ts'
import { forgetProofs } from './people/sign_in/joining.ts'
import { passwordHasher } from './people/sign_in/passwords.ts'
import { type SignInNeeds, signInRoutes, signInSteps } from './people/sign_in/routes.ts'
import { actionRoutes } from './people/users/action_routes.ts'
import { endMade } from './people/users/ending_made.ts'
import { type Face, portalFace, type SessionLengths } from './people/users/faces.ts'
import { userKinds } from './people/users/forms.ts'
import { portalMount } from './people/users/portal.ts'
import { userRoutes } from './people/users/routes.ts'
import { sessionRoutes } from './people/users/session_routes.ts'
import { openSessions, sessionReader } from './people/users/sessions.ts'
import type { Again } from './platform/database/again.ts'
import type { Sql } from './platform/database/sql.ts'
import type { CallTiming } from './platform/http/calls.ts'
import type { Mount } from './platform/http/mounts.ts'
import { type Page, referencePages } from './platform/http/pages.ts'
import type { Authenticate } from './platform/http/server.ts'
import { type Seal, type SealingKeys, sealWith } from './platform/seal/seal.ts'
import type { Step } from './platform/steps/step.ts'
import type { Endpoint } from './platform/wire/endpoint.ts'
import { routes as checkRoutes, reportRoutes } from './screening/calls/routes.ts'
import { askProvidersStep, screenStep } from './screening/checks/answering.ts'
import { checkKinds } from './screening/checks/forms.ts'
import { foldCountsStep } from './screening/checks/history.ts'
import { checkPlacer } from './screening/checks/placing.ts'
import { reviewKinds } from './screening/checks/reviews.ts'
import { watchBlocksStep } from './screening/checks/watch_blocks.ts'
import { DEFAULT_RETENTION_DAYS, rescreenStep, retainStep } from './screening/checks/watches.ts'
import { barredReader, heldSenders } from './screening/engine/barred.ts'
import { type Issuers, issuersOf } from './screening/engine/issuers.ts'
import { type Download, refreshStep } from './screening/labels/lists.ts'
import type { Provider } from './screening/providers/provider.ts'
import { reportPages } from './screening/reports/pages.ts'
import { recordStep } from './screening/tracing/flow_log.ts'
import {
  DEFAULT_CARRIED_BLOCKS,
  DEFAULT_CHECKPOINT_TRANSFERS,
  type Needs as FlowNeeds,
  flowGenerations,
  type Generations,
  type IndexMemory,
  pruneIndexStep,
} from './screening/tracing/generations.ts'
import { routes as treasuryRoutes } from './treasury/corrections/routes.ts'
import { arriveStep, creditStep, DUST_SUN } from './treasury/deposits/arrivals.ts'
import { depositKinds } from './treasury/deposits/forms.ts'
import { holdingsStep } from './treasury/deposits/holdings.ts'
import { pages as treasuryPages } from './treasury/deposits/pages.ts'
import {
  rechargedStep,
  rechargeStep,
  refundedStep,
  refundStep,
} from './treasury/deposits/recharges.ts'
import { routes as depositRoutes } from './treasury/deposits/routes.ts'
import { invoiceKinds } from './treasury/invoices/forms.ts'
import { issueInvoicesStep } from './treasury/invoices/issuing.ts'
import { invoicePages } from './treasury/invoices/pages.ts'
import { routes as invoiceRoutes } from './treasury/invoices/routes.ts'
import { brandReader } from './web/brand.ts'
import { type Web, webPages } from './web/pages.ts'

/** What the world outside gives. */
export type World = {
  /** What the steps work by. */
  sql: Sql
  /** What answers customers' calls, with a role of the database that may do less; the same when
   *  left out. */
  api_sql?: Sql
  /** Few connections, through which the steps work that are due after each block, so that customers
   *  do not wait behind all of them at once. The steps that may take long, and those that a
   *  customer looks on, work through the others. */
  steps_sql?: Sql
  /** How what a customer waits for is tried again that the database could not do. */
  again?: Again | undefined
  /** Between the beginnings of two batches where purchases come together. */
  pause?: (() => Promise<unknown>) | undefined
  /** Told of what customers are told of: `order:ID`, `check:ID`, `subscription:ID`. */
  told?: ((name: string) => void) | undefined
  /** A connection of the follower's own: when it is late, everything that is sold is refused. */
  follow_sql?: Sql
  clock: Clock
  random: Random
  log: Log
  node: Node
  /** How customers' calls ask the chain; left out: the node, without a limit. */
  reads?: Reads
  /** What is known of the blocks that are followed; left out: read from the database. */
  followed?: FollowedBlocks
  wallets: Wallets
  /** What was signed before, on disk. */
  signed: SignatureLog
  keys: KeyRules
  /** TRC20 contracts whose events are read. */
  tokens: ReadonlySet<Address>
  /** When a direct recharge is acted on: when a block has it, or when that block is solid. */
  recharge_at: 'inclusion' | 'solid'
  /** What would be held for the operator is ignored when it is less than this; DUST_SUN when left
   *  out. */
  dust_sun?: bigint | undefined
  /** Outside screening services that a policy can name; none when left out. */
  providers?: readonly Provider[]
  /** Opens publishers' lists; without it none is refreshed. */
  download?: Download
  /** For how long the evidence of checks is kept. */
  retention_days?: number | undefined
  /** Seals the secrets of API keys. */
  sealing: SealingKeys
  /** What the books' check looks at; undefined: the rows alone, by the same connections. */
  books?: BooksSources
  /** The file that the roots of the journal are noted in; without it they are noted in the log
   *  alone. */
  roots_file?: string | undefined
  /** How long sessions of the portal may rest and be; as long as may be when left out. */
  portal_sessions?: SessionLengths | undefined
  /** For how many days events are kept. */
  event_days?: number | undefined
  /** How dear a password is to guess: 2 to the power of it; what is right today when left out. */
  password_cost?: number | undefined
  /** How webhooks are called. */
  webhooks: WebhookCalls
  /** What callers are told of this service. */
  about: { version: string; public_url: string | undefined; issuer?: string | undefined }
  /** The files of the pages for browsers, and where those look at the chain. Left out: there are no
   *  such pages. */
  web?: Pick<Web, 'assets' | 'explorer'> | undefined
  /** Called when something was written that a step may take up. */
  wake: (step: string) => void
  /** Called when events were numbered: those who stream them may be in any process. */
  tellStreams: () => void
}

export type WebhookCalls = {
  caller: Caller
  /** Names this process among those that call. */
  process: string
  /** 0 up to 1, for pauses that differ. */
  chance(): number
  wait(ms: number): Promise<void>
  patience_ms?: number | undefined
  user_agent: string
  /** Our own public host, which is never called. */
  own_host?: string | undefined
}

/** What holds the hot keys. */
export type KeyRules = {
  /** Sign although a key can do more than its line. */
  allow_wide_keys: boolean
  /** What the start has found about them; left out: the first run of a step finds it. */
  found?: KeyFindings
  /** Whether this machine was told to sign nothing; left out: it never is. */
  stopped_here?: () => boolean
}

export type App = {
  endpoints: Endpoint[]
  /** Other ways in to them: the portal. */
  mounts: Mount[]
  /** What a face needs that people sign in to: sessionMount() and signInRoutes() are made of it. */
  sign_in: Omit<SignInNeeds, 'face'>
  pages: Page[]
  steps: Step[]
  authenticate: Authenticate
  /** What a process with an API runs, whether it runs the other steps or not. */
  api_steps: Step[]
  new_id: NewId
  seal: Seal
  deposit_address: DepositAddress
  sign: Signer
  streams: EventStreams
  refusals: Refusals
  /** Told how each call was answered. */
  noteCall: (call: CallTiming) => void
  /** What is told of. */
  kinds: readonly EventKind[]
  /** What the flow index of this process takes. */
  indexMemory: () => IndexMemory[]
  /** What this process signs with; null: with nothing. */
  signingTerms: () => SigningTerms | null
}

export function buildApp(world: World): App {
  const { sql: steps_sql, api_sql: sql = steps_sql } = world
  const { clock, random, node, wallets } = world
  const for_customers = { ...world, sql }
  const new_id = idMaker(clock, random)
  const seal = sealWith(world.sealing, random)
  const { allow_wide_keys, found, stopped_here = () => false } = world.keys
  const keys = { wallets, allow_wide_keys, stopped_here, found }
  const watch = walletWatch({ sql: steps_sql, clock, node, log: world.log, ...keys })
  const { isStopped, stakes } = watch
  const signing = { sql: steps_sql, clock, log: world.signed, isStopped, stakes, stopped_here }
  const sign = localSigner(wallets, signing)
  const prices = priceReader({ sql, clock, activationsLeft })
  const reads = world.reads ?? (() => node)
  const receiver = receiversOf(for_customers, reads)
  const uses = lastUses({ sql, clock })
  const purchases = purchaseCounter({ sql, clock })
  const receipts = { sql, clock, seal, network: networkReader(node) }
  const brand = brandReader({ sql, clock, wait: world.webhooks.wait })
  const status = statusOf(for_customers, { prices, brand })
  const events = eventsOf(world, { new_id, seal })
  const sign_in = signInOf(for_customers, { new_id, seal, brand })
  const { tryOrder, placeOrder } = placersOf(world, { new_id, prices, receiver })
  const portal = portalFace(world.about.public_url, world.portal_sessions)
  const papers = { sql, sessions: sign_in.sessions, face: portal }
  const generations = flowGenerations(flowNeeds(world))
  const issuers = issuersOf({ sql: steps_sql, clock, node })
  const working = { new_id, sign, watch, reads, prices, tryOrder, generations, issuers }
  const endpoints = [
    ...paidOf(for_customers, { new_id, prices, receiver, placeOrder, reads }),
    ...listsOf(for_customers),
    ...quoteRoutes({ sql, clock, new_id, prices, receiver, reads, placeOrder }),
    forecastRoute({ sql, prices }),
    ...receiptRoutes({ ...receipts, service: world.webhooks.user_agent }),
    ...events.endpoints,
    ...accessOf(for_customers, { sign_in, face: portal }),
  ]
  return {
    endpoints,
    mounts: [
      portalMount({ clock, sessions: sign_in.sessions, streams: events.streams }, portal, {
        endpoints,
        sign_in: signInRoutes({ ...sign_in, face: portal }),
      }),
    ],
    sign_in,
    pages: [
      ...pagesOf(for_customers, { brand, seal }),
      ...reportPages(papers),
      ...invoicePages(papers),
      ...status.pages,
    ],
    steps: [...stepsOf(world, working), ...events.steps],
    authenticate: authenticator({ sql, clock, seal, noteUse: uses.note }),
    api_steps: [uses.step, purchases.step, endPairingsStep({ sql, clock }), status.drawStep],
    noteCall: purchases.note,
    new_id,
    seal,
    deposit_address: depositAddresses(wallets.deposit_xpub),
    sign,
    streams: events.streams,
    refusals: refusalRecorder({ sql, clock, secretsOf: secretReader(seal) }),
    kinds: events.kinds,
    indexMemory: generations.memory,
    signingTerms: () => signingTerms(wallets, stakes()),
  }
}

/** Who may call and sign in for a customer, and who has changed what. */
const accessOf = (
  { sql, clock, about }: World,
  { sign_in, face }: { sign_in: ReturnType<typeof signInOf>; face: Face },
): Endpoint[] => [
  ...keyRoutes({
    ...sign_in,
    endSubscriptions: endAll,
    endMade: (tx, asks, ending) => endMade(tx, { endSubscriptions: endAll }, asks, ending),
  }),
  ...pairingRoutes({ ...sign_in, public_url: about.public_url }),
  ...userRoutes({ ...sign_in, face, forgetProofs, endSubscriptions: endAll }),
  ...sessionRoutes({ sql, clock, face }),
  ...actionRoutes({ sql }),
]

function receiversOf(world: World, reads: Reads): ReceiverReader {
  const { followed = followedBlocks(world) } = world
  const ours = ownAddresses(world.wallets)
  const is_barred = barredReader({ ...world, issuers: issuersOf(world) })
  return receiverReader({ ...world, reads, is_barred, followed, ours })
}

/** What is read with GET, but for the status page. */
function pagesOf(
  { sql, node, about, web }: World,
  { brand, seal }: Pick<Web, 'brand'> & Pick<App, 'seal'>,
): Page[] {
  const network = networkReader(node)
  return [
    ...treasuryPages({ sql }),
    keyPage({ sql, seal }),
    ...referencePages(),
    ...(web ? webPages({ ...web, public_url: about.public_url, network, brand }) : []),
  ]
}

/** The status page, and what draws it before anybody asks. */
function statusOf(
  { sql, clock, node, about, web, webhooks: { wait } }: World,
  parts: Pick<SharedParts, 'prices'> & Pick<Web, 'brand'>,
) {
  const style = web && (async () => `/assets/${(await web.assets.face('portal')).style}`)
  const is_https = about.public_url?.startsWith('https:') ?? false
  const network = networkReader(node)
  const burnPrice = burnPriceReader(node, () => clock.now().getTime())
  return statusPages({ sql, clock, wait, ...parts, network, burnPrice, style, is_https })
}

/** What everything needs that signs people in. */
function signInOf(
  world: World,
  { brand, ...parts }: Pick<App, 'new_id' | 'seal'> & Pick<Web, 'brand'>,
): App['sign_in'] {
  const { sql, clock, random, wake } = world
  const sessions = sessionReader({ sql, clock, seal: parts.seal })
  const network = networkReader(world.node)
  const passwords = passwordHasher(random, world.password_cost)
  const own = { passwords, totp_codes: totpCodes(parts.seal) }
  const brandName = async () => (await brand()).name
  return { sql, clock, random, ...parts, sessions, ...own, brandName, network, wake }
}

type PaidParts = Pick<App, 'new_id'> &
  Pick<OrderPlacer, 'placeOrder'> & {
    prices: ReturnType<typeof priceReader>
    receiver: ReceiverReader
    reads: Reads
  }

/** What customers pay for, and what it would cost. */
function paidOf(
  { sql, clock, wallets, again, told, wake }: World,
  { new_id, prices, receiver, placeOrder, reads }: PaidParts,
): Endpoint[] {
  const placeCheck = checkPlacer({ sql, clock, new_id, again, told, wake })
  return [
    ...marketRoutes({ sql, prices, receiver, placeOrder, reads }),
    ...subscriptionRoutes({ sql, clock, new_id, prices, receiver, again, told, wake }),
    ...checkRoutes({ sql, placeCheck }),
    ...treasuryRoutes({ sql, prices, recharge_address: wallets.recharge_address }),
  ]
}

/** What customers read of what is theirs, and set for themselves. */
function listsOf({ sql, clock, node, about }: World): Endpoint[] {
  return [
    ...settingsRoutes({ sql, clock, service: { ...about, network: networkReader(node) } }),
    ...transactionRoutes({ sql, clock }),
    ...useRoutes({ sql }),
    ...depositRoutes({ sql }),
    ...statementRoutes({ sql, clock }),
    ...invoiceRoutes({ sql }),
    ...priceRoutes({ sql }),
    ...reportRoutes({ sql, clock }),
    ...refusalRoutes({ sql }),
  ]
}

/** Places what customers order, and what the service orders for itself, which the API's role may
 *  not. */
function placersOf(world: World, parts: Pick<OrderPlacing, 'new_id' | 'prices' | 'receiver'>) {
  const { sql: steps_sql, api_sql = steps_sql, clock, again, pause, told, wake } = world
  const placing = { ...parts, clock, again, pause, told, wake }
  const { placeOrder } = orderPlacer({ ...placing, sql: api_sql })
  const { tryOrder } = orderPlacer({ ...placing, sql: steps_sql })
  return { tryOrder, placeOrder }
}

/** What is told of what happened: every kind, the log, streams and webhooks. */
function eventsOf(world: World, { new_id, seal }: Pick<App, 'new_id' | 'seal'>) {
  const { sql: long_sql, steps_sql = long_sql, api_sql: sql = long_sql } = world
  const { clock, random, log, wake, webhooks, tellStreams, event_days = EVENT_DAYS } = world
  const kinds = [
    ...orderKinds,
    ...depositKinds,
    ...subscriptionKinds,
    ...checkKinds,
    ...reviewKinds,
    ...invoiceKinds,
    ...webhookKinds,
    ...alertKinds,
    ...keyKinds,
    ...userKinds,
    ...settingKinds,
    ...priceKinds,
    ...customerKinds,
    ...changeKinds,
  ]
  const calls = { ...webhooks, sql: long_sql, clock, seal, new_id }
  const on_wire = { ...calls, sql, tellStreams, random, kinds, wake }
  const scopesOf = (key_ids: readonly string[]) => scopesOfKeys(sql, key_ids, clock.now())
  const open = (ids: readonly string[]) =>
    openSessions(sql, portalFace(undefined, world.portal_sessions), { ids, now: clock.now() })
  const streams = new EventStreams({
    sql,
    clock,
    print: eventBodyPrinter(kinds),
    scopesOf,
    openSessions: open,
  })
  return {
    kinds,
    streams,
    endpoints: [...eventRoutes({ sql, kinds, streams }), ...webhookRoutes(on_wire)],
    steps: [
      publishStep({ sql: steps_sql, tellStreams }),
      notifyStep({ ...calls, log, wake, readable: readableTypes(kinds) }),
      pruneEventsStep({ sql: steps_sql, clock }, event_days),
      pruneNoticesStep({ sql: steps_sql, clock }, event_days),
    ],
  }
}

type SharedParts = Pick<App, 'new_id' | 'sign'> & {
  watch: WalletWatch
  reads: Reads
  prices: ReturnType<typeof priceReader>
  tryOrder: OrderPlacer['tryOrder']
  generations: Generations
  issuers: Issuers
}

function stepsOf(world: World, working: SharedParts): Step[] {
  const { new_id, sign, watch, prices, tryOrder } = working
  const { clock, node, wallets, sql: long_sql, steps_sql: sql = long_sql } = world
  const { follow_sql = sql } = world
  const { recharge_address } = wallets
  const pool = wallets.pool.map((wallet) => wallet.address)
  const permissions = new Map(wallets.pool.map((wallet) => [wallet.address, wallet.permission_id]))
  const chain: SignerNeeds = { sql, clock, node, sign, log: world.log }
  const market = { sql, clock, new_id, permissions }
  const activations = { sql, clock, new_id, node, activation_wallet: wallets.activation }
  const { recharge_at, dust_sun = DUST_SUN } = world
  const senders = { heldSenders: heldSenders({ clock }), issuers: working.issuers, dust_sun }
  const deposits = { sql, clock, recharge_address, recharge_at, ...senders }
  const recharges = {
    sql,
    clock,
    new_id,
    prices,
    tryOrder,
    refund_wallet: wallets.refund,
    ...senders,
    isWitnessed: (tx_id: string) => node.isWitnessed(tx_id),
  }
  // In the order in which an order meets them.
  return [
    followStep({ sql: follow_sql, clock, node, tokens: world.tokens }),
    confirmStep({ sql, clock, node, tokens: world.tokens }),
    surveyStep({ sql, node, pool, activation_wallet: wallets.activation }),
    activateStep(activations),
    activatedStep(activations),
    delegateStep(market),
    watch.step,
    signStep(chain),
    sendStep(chain),
    judgeStep(chain),
    settleStep(market),
    reclaimStep(market),
    reclaimedStep(market),
    endStep(market),
    remindStep({ sql, clock }),
    solidifyStep({ sql, clock }),
    endingStep({ sql, clock }),
    remindKeysStep({ sql, clock }),
    lowBalanceStep({ sql, clock }),
    creditStep(deposits),
    arriveStep(deposits),
    holdingsStep({ ...deposits, node }),
    rechargeStep(recharges),
    rechargedStep(recharges),
    refundStep(recharges),
    refundedStep(recharges),
    useStep({ sql, clock, prices }),
    supplyStep({ sql, clock, node, tryOrder }),
    withdrawSupplyStep({ sql, clock }),
    ...screeningSteps(world, working),
    sealStep({ sql: long_sql, clock }),
    summarizeStep({ sql: long_sql, clock }),
    issueInvoicesStep({ sql: long_sql, clock, issuer: world.about.issuer }),
    pruneRefusalsStep({ sql: long_sql, clock }),
    noteRootsStep({ sql: long_sql, clock, log: world.log, file: world.roots_file }),
    watchBooksStep({ clock, ...(world.books ?? { sql: long_sql, chain: undefined }) }),
    pruneStep({ sql: long_sql }),
    pruneNonces({ sql: long_sql, clock }),
    pruneQuotesStep({ sql: long_sql, clock }),
    ...measuringSteps({ sql: long_sql, clock }),
    ...signInSteps({ sql: long_sql, clock }),
  ]
}

/** What says how the service does. */
const measuringSteps = (needs: Pick<World, 'sql' | 'clock'>): Step[] => [
  attendStep(needs),
  measureMinutesStep(needs),
  pruneMetricsStep(needs),
]

const flowNeeds = ({ sql, clock }: World): FlowNeeds => ({
  sql,
  clock,
  carried_blocks: DEFAULT_CARRIED_BLOCKS,
  checkpoint_transfers: DEFAULT_CHECKPOINT_TRANSFERS,
})

type ScreeningParts = Pick<SharedParts, 'new_id' | 'reads' | 'generations' | 'issuers'>

/** What follows money, and answers checks from it. */
function screeningSteps(
  world: World,
  { new_id, reads, generations, issuers }: ScreeningParts,
): Step[] {
  const { clock, node, tokens, sql, steps_sql = sql } = world
  const { providers = [], download, retention_days = DEFAULT_RETENTION_DAYS } = world
  const flow = flowNeeds(world)
  const { carried_blocks } = flow
  const answering = { sql, clock, reads, generations, carried_blocks, issuers, providers }
  return [
    recordStep({ sql: steps_sql, node, tokens }),
    generations.step,
    screenStep(answering),
    askProvidersStep(answering),
    rescreenStep({ sql, clock, new_id, generations }),
    watchBlocksStep({ sql: steps_sql }),
    foldCountsStep({ sql: steps_sql }),
    pruneIndexStep(flow),
    ...(download ? [refreshStep({ sql, clock, download })] : []),
    retainStep({ sql, clock }, retention_days),
  ]
}
