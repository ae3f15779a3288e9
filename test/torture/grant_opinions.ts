// What follows when somebody writes with the rights that the roles of the API and of the workers
// have: one opinion for each table, of every grant of those roles by its name. `found_by` names the
// rules of the books that find what a write does to money, orders or receipts; without it a write
// changes nothing that is compared in grants.ts. db/rights.txt says the same of the grants; a grant
// that is new has no opinion, and a test says so until somebody has thought about it.

import { type Grant, printGrant, type Thief } from '../harness/grants.ts'

/** `found_by`: what the writes of workers come to, who can do more than the API. */
type Rights = { api?: string; worker?: string; found_by?: string }
/** `one_by_one`: each write is tried alone, as one could hide what another comes to. */
type Opinion = { why: string; one_by_one?: true; tables: Readonly<Record<string, Rights>> }

const ALL = 'delete, insert, update'

const OPINIONS: readonly Opinion[] = [
  {
    why:
      'Sums of accounts follow the entries by a trigger, and nobody else is heard. An entry is ' +
      'held by what it is for: an order, a deposit, a use.',
    one_by_one: true,
    tables: {
      account: { api: 'update of held_sun', worker: 'insert of id may_go_negative, update' },
      transfer: { api: 'insert', worker: 'insert, update of number', found_by: 'C6 C7' },
    },
  },
  {
    why:
      'What is signed is worked out from orders, delegations, activations and deposits together, ' +
      'with their entries and prices; what is booked and delivered is compared with the chain.',
    one_by_one: true,
    tables: {
      activation: { api: 'insert', worker: 'insert, update' },
      attempt: {
        worker:
          'insert, update of state tx_id signed expires_at send_at sends answer block_number ' +
          'block_time sent_at uncovered refused_at block_id fee_sun bandwidth energy stamp',
        found_by: 'C5',
      },
      delegation: { worker: 'insert, update', found_by: 'C9' },
      deposit: { worker: 'insert, update', found_by: 'C6' },
      orders: { api: 'insert', worker: 'insert, update', found_by: 'C4 C5' },
      quote: { api: 'insert', worker: 'delete, insert' },
      subscription: {
        api: 'insert, update of state reason total_sun look_at stopped_at withdrawn resting',
        worker: 'update',
      },
      subscription_supply: { worker: 'insert, update' },
      subscription_use: { worker: ALL },
    },
  },
  {
    why:
      'What all signers have signed is a second bound: each is bound by its own file as well, so ' +
      'a row more can stop signing, and nothing else.',
    one_by_one: true,
    tables: { signing_amount: { worker: 'delete, insert of attempt type wallet sun at' } },
  },
  {
    why: 'What of the chain was read: money is booked from it, and compared with a node again.',
    one_by_one: true,
    tables: {
      block: { worker: ALL },
      chain: { worker: ALL },
      cursor: { worker: ALL },
      deposit_outflow: { worker: 'insert, update' },
      holding: { worker: 'insert, update' },
      node_dispute: { worker: 'insert, update' },
      node_hiding: { worker: 'insert, update' },
    },
  },
  {
    why:
      'What was collected goes to the operator by files that are signed offline; votes and what ' +
      'they earn are signed for by the plan, and booked as receipts say. C18 and C19 compare ' +
      'them with entries, outflows and the chain.',
    tables: {
      collection_transfer: {
        worker:
          'update of state due_at moved fee_sun block_number ended_at energy_by energy_due_at ' +
          'energy_amount energy_order energy_said',
      },
      reward_claim: { worker: 'insert, update of state reward_sun ended_at' },
      vote: { worker: 'insert, update of state ended_at' },
    },
  },
  {
    why:
      'What can be sold: more than there is cannot be delivered, and fails; what the chain has ' +
      'decides when it is delegated.',
    one_by_one: true,
    tables: {
      activation_float: { worker: 'insert, update' },
      pool: { api: 'update of reserved free_at_sale', worker: 'insert, update' },
      pool_wallet: { worker: ALL },
    },
  },
  {
    why: 'Services are taken off sale by workers, and put back by operators alone.',
    one_by_one: true,
    tables: {
      aml_service: { worker: 'update' },
      service: { worker: 'update', found_by: 'C10' },
    },
  },
  {
    why:
      'How much the rule of an operator raises prices, within its bounds: what is in force is ' +
      'worked out by the database from the prices that were set, and is never below them.',
    tables: {
      price_rule: {
        worker:
          'update of floor_sun refused_sun floor_at raise_percent full_percent raised_at looked_at',
      },
    },
  },
  {
    why:
      'A key, its cap and what it has spent bound what is bought in the name of its customer, ' +
      'for what he has and at the price in force.',
    tables: {
      api_key: { api: 'insert, update', worker: 'update of ending_at' },
      api_key_cap: { api: 'insert', worker: ALL },
      api_key_nonce: { api: 'insert', worker: 'delete' },
      api_key_spending: { api: 'insert, update', worker: 'insert, update' },
      customer: {
        api: 'update of open_orders_limit',
        worker: 'insert of id name created_at deposit_index deposit_address',
      },
      customer_setting: { api: 'insert, update', worker: 'insert, update of balance_low_at' },
      pairing: { api: ALL },
    },
  },
  {
    why:
      'People who sign in: row security shows the users of customers alone, and a session ' +
      'without its marks is none.',
    tables: {
      answered_challenge: { api: ALL, worker: 'delete' },
      passkey: { api: ALL },
      recovery_code: { api: ALL },
      service_user: { api: ALL },
      sign_in: { api: ALL, worker: 'delete' },
      sign_up: {
        api: 'insert, update of state sealed_token name user_id',
        worker: 'delete, update of state sealed_token due_at tries last_fault sent_at customer_id',
      },
      user_link: { api: ALL },
      user_password: { api: ALL },
      user_session: { api: ALL, worker: 'delete' },
    },
  },
  {
    why:
      'Records are a chain of sums, worked out again outside of the database; what was found is ' +
      'accepted by operators alone.',
    tables: {
      books_check: { worker: 'insert, update' },
      books_finding: { worker: 'delete, insert, update of found_at gone_at' },
      customer_action: { api: 'insert' },
      journal: { worker: 'insert' },
      journal_mark: { worker: 'insert, update' },
      operator_action: { worker: 'insert' },
      // A shortcut of a large ledger's check: the whole one works without them.
      sealed_sum: { worker: ALL },
      sums_seal: { worker: ALL },
    },
  },
  {
    why: 'Papers about money that has moved: they move none, and are compared with the entries.',
    tables: {
      invoice: { worker: 'insert' },
      invoice_progress: { worker: 'insert, update' },
      summary: { worker: ALL },
      summary_progress: { worker: 'insert, update' },
    },
  },
  {
    why: 'What customers are told: an event that says what is not so moves nothing.',
    tables: {
      event: { api: 'insert', worker: 'delete, insert' },
      event_counter: { api: 'insert, update', worker: 'insert, update' },
      event_note: { api: 'delete, insert', worker: 'delete, insert' },
      event_publisher: { api: 'update', worker: 'update' },
      notice: { api: 'insert, update', worker: ALL },
      webhook: { api: 'insert, update', worker: 'update' },
      webhook_call: { api: 'insert', worker: 'delete, insert' },
      webhook_secret: { api: ALL },
    },
  },
  {
    why: 'What is known of addresses, and what checks have answered: a price for it is no part.',
    tables: {
      aml_answer: { worker: 'delete, insert' },
      aml_case: { worker: 'insert, update' },
      aml_case_alert: { worker: ALL },
      aml_case_entry: { worker: 'insert' },
      aml_case_subject: { worker: 'insert' },
      aml_check: { api: 'insert', worker: 'insert, update' },
      aml_count: { worker: 'insert, update' },
      aml_count_delta: { api: 'insert', worker: ALL },
      aml_entry: {
        api: 'insert, update of withdrawn_at',
        worker: 'update of seen_severe_bp seen_severe_usd',
      },
      aml_evidence: { worker: 'delete, insert' },
      aml_review: { worker: 'insert' },
      aml_watch: {
        api:
          'delete, insert, update of label_set reference any_incoming_usd severe_share_bp ' +
          'severe_usd sent_to seen_share_bp seen_usd',
        worker: 'update',
      },
      deposit_screening: { worker: 'insert, update' },
      flow_asset: { worker: 'insert, update' },
      flow_archive: { worker: 'update of state' },
      flow_archive_portion: { worker: ALL },
      flow_block: {
        worker: 'delete, insert, update of transfers tx_ids contents_sha256',
      },
      flow_carried: { worker: ALL },
      flow_carried_from: { worker: ALL },
      flow_checkpoint: { worker: ALL },
      flow_checkpoint_part: { worker: ALL },
      flow_deposit: { worker: 'insert' },
      flow_deposit_found: { worker: ALL },
      flow_freeze: { worker: 'insert, update' },
      flow_generation: { worker: ALL },
      flow_hub: { worker: ALL },
      flow_pair: { worker: 'insert, update' },
      flow_pair_progress: { worker: 'update' },
      flow_reach: { worker: 'insert' },
      flow_sent: { worker: 'insert, update of read_at' },
      flow_sent_part: { worker: 'delete, insert' },
      issuer_word: { api: 'insert', worker: 'insert' },
      label_set: { worker: 'insert, update' },
      label_set_version: { worker: 'insert' },
      list: { worker: 'insert, update' },
      list_entry: { worker: 'insert' },
      list_removal: { worker: 'insert' },
      list_version: { worker: 'insert' },
    },
  },
  {
    why: 'What operators look at: it may hide something from them, and decides nothing.',
    tables: {
      alert: { worker: ALL },
      database_loss: { api: 'insert', worker: 'insert' },
      duty: { worker: 'insert, update' },
      loosened_setting: { api: 'insert, update', worker: ALL },
      metric: { api: 'insert, update', worker: ALL },
      metric_progress: { worker: ALL },
      process: { api: ALL, worker: ALL },
      refusal: { api: 'insert', worker: 'delete, insert' },
      refusal_day: { api: 'insert, update', worker: 'delete' },
      wallet_check: { worker: ALL },
    },
  },
]

const SHORT: Readonly<Record<Thief, 'api' | 'worker' | undefined>> = {
  penstock_api: 'api',
  penstock_worker: 'worker',
  penstock_read: undefined,
}

/** What there is to say about the writes of a role to a table. */
export function opinionOf(
  table: string,
  role: Thief,
): { rights: string; found_by: string[]; one_by_one: boolean } | undefined {
  const short = SHORT[role]
  const opinion = OPINIONS.find(({ tables }) => table in tables)
  const rights = opinion?.tables[table]
  const own = short && rights?.[short]
  if (!opinion || !rights || own === undefined) return undefined
  const found_by = (short === 'worker' && rights.found_by?.split(' ')) || []
  return { rights: own, found_by, one_by_one: opinion.one_by_one ?? false }
}

/** What was granted that nobody has an opinion on, and opinions on what was not granted: a line
 *  for each. */
export function opinionsMissing(grants: readonly Grant[]): string[] {
  const granted = new Map<string, string[]>()
  for (const grant of grants.filter(({ word }) => word !== 'select')) {
    const key = `${grant.role} ${grant.table}`
    granted.set(key, [...(granted.get(key) ?? []), printGrant(grant)])
  }
  const wrong: string[] = []
  for (const [key, words] of granted) {
    const [role = '', table = ''] = key.split(' ')
    const rights = opinionOf(table, role as Thief)?.rights ?? 'nothing'
    const printed = words.sort().join(', ')
    if (rights !== printed)
      wrong.push(`${key}: ${printed} is granted, and the opinion is on ${rights}`)
  }
  for (const { tables } of OPINIONS)
    for (const [table, rights] of Object.entries(tables))
      for (const [role, short] of Object.entries(SHORT))
        if (short && rights[short] && !granted.has(`${role} ${table}`))
          wrong.push(`${role} ${table}: nothing is granted, and the opinion is on ${rights[short]}`)
  return wrong
}
