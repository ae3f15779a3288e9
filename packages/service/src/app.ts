// The App: the wings, each given what it needs. What a wing adds, its routes, steps, pages and
// kinds of events, is listed in that wing's own folder. Nothing runs here: serve.ts serves the
// endpoints and starts the steps, tests drain them, the simulator runs them one by one.

import { networkReader } from './chain/node/network_name.ts'
import { type ChainSetup, chainWing } from './chain/wing.ts'
import type { EventKind } from './events/log/kinds.ts'
import { type EventsSetup, eventsWing } from './events/wing.ts'
import { type HealthSetup, healthWing } from './health/wing.ts'
import { type LedgerSetup, ledgerWing } from './ledger/wing.ts'
import { idMaker } from './lib/ids.ts'
import { endAll } from './market/subscriptions/ending.ts'
import { marketWing } from './market/wing.ts'
import { depositAddresses } from './people/customers/deposit_addresses.ts'
import { type PeopleSetup, peopleWing } from './people/wing.ts'
import { type Page, referencePages } from './platform/http/pages.ts'
import { type SealingKeys, sealWith } from './platform/seal/seal.ts'
import type { Step } from './platform/steps/step.ts'
import type { Common } from './platform/wing.ts'
import type { Endpoint } from './platform/wire/endpoint.ts'
import { barredReader } from './screening/engine/barred.ts'
import { issuersOf } from './screening/engine/issuers.ts'
import { type ScreeningSetup, screeningWing } from './screening/wing.ts'
import { type TreasurySetup, treasuryWing } from './treasury/wing.ts'
import { type WebSetup, webWing } from './web/wing.ts'

/** What a wing adds to the service. */
type Wing = {
  endpoints?: readonly Endpoint[]
  /** What is read with GET. */
  pages?: readonly Page[]
  steps?: readonly Step[]
  /** What a process with an API runs, whether it runs the other steps or not. */
  api_steps?: readonly Step[]
  /** What is told of. */
  kinds?: readonly EventKind[]
}

type Setups = ChainSetup &
  EventsSetup &
  HealthSetup &
  LedgerSetup &
  PeopleSetup &
  ScreeningSetup &
  TreasurySetup &
  Omit<WebSetup, 'wait'>

/** What the world outside gives. Connections that are left out are those of the steps. */
export type World = Setups &
  Omit<Common, 'new_id' | 'seal' | 'network' | 'api_sql' | 'steps_sql'> &
  Partial<Pick<Common, 'api_sql' | 'steps_sql'>> & {
    /** Seals the secrets of API keys. */
    sealing: SealingKeys
  }

export type App = ReturnType<typeof buildApp>

export function buildApp(world: World) {
  const { sql, api_sql = sql, steps_sql = sql, clock, random, node, wallets } = world
  const new_id = idMaker(clock, random)
  const seal = sealWith(world.sealing, random)
  const { wait, user_agent: service } = world.webhooks
  const made = { api_sql, steps_sql, new_id, seal, network: networkReader(node), wait }
  const common = { ...world, ...made }

  const barring = { sql: api_sql, clock, node }
  const is_barred = barredReader({ ...barring, issuers: issuersOf(barring) })
  const chain = chainWing({ ...common, is_barred })
  const { reads, receiver } = chain
  const web = webWing(common)
  const { brand } = web
  const brandName = async () => (await brand()).name
  const deposit_address = depositAddresses(wallets.deposit_xpub)
  const people = peopleWing({ ...common, brandName, deposit_address, endSubscriptions: endAll })
  const { readers, scopesOf, openSessions } = people
  const market = marketWing({ ...common, reads, receiver, service })
  const screening = screeningWing({ ...common, reads, readers })
  const { prices, tryOrder } = market
  const { heldSenders, issuers, money } = screening
  const deposits = { heldSenders, issuers, money }
  const treasury = treasuryWing({ ...common, ...deposits, prices, tryOrder, readers })
  const ledger = ledgerWing(common)
  const health = healthWing({ ...common, prices, brand })
  const kinds = [market, treasury, screening, people, health].flatMap((wing) => wing.kinds)
  const events = eventsWing({ ...common, scopesOf, openSessions }, kinds)

  // In the order in which an order meets their steps.
  const wings: Wing[] = [chain, market, treasury, screening, ledger, people, health, events, web]
  const allOf = <Key extends keyof Wing>(key: Key) =>
    wings.flatMap((wing) => (wing[key] ?? []) as NonNullable<Wing[Key]>[number][])
  const endpoints = allOf('endpoints')
  return {
    endpoints,
    /** Other ways in to them. */
    mounts: [people.portal(endpoints, events)],
    pages: [...allOf('pages'), ...referencePages()],
    steps: allOf('steps'),
    api_steps: allOf('api_steps'),
    /** What a face needs that people sign in to. */
    sign_in: people.sign_in,
    authenticate: people.authenticate,
    refusals: people.refusals,
    noteCall: health.noteCall,
    new_id,
    seal,
    deposit_address,
    sign: chain.sign,
    streams: events.streams,
    kinds: events.kinds,
    indexMemory: screening.indexMemory,
    closeIndex: screening.closeIndex,
    signingTerms: chain.signingTerms,
  }
}
