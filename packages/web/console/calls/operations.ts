// Printed by `npm run print` from the table of operations, for those that a
// page names; a test says that it is fresh.

/** The body and the reply of each operation. */
export type Operations = {
  'status': { body: object; reply: { database: string; orders_open: number; attempts_open: number;
    delegations_live: number; deposits_held: number; customers: number; chain: {
    head_number: number; solid_number: number; confirmed_number: number; silent_seconds: number;
    behind_seconds: number } | null; off_sale: string[]; pool: { resource: string; room: number;
    reserved: number; free: number; out: number; out_sun: number;
    units_per_1000_trx: number | null }[]; screening: { policy: string; label_set: number;
    generation: number | null; first_block: number | null; last_block: number | null;
    behind: number | null; hubs: number; lists: string | string[] }; processes: { id: string;
    role: string; host: string; version: string; started_at: string; clock_offset_ms: number;
    duties: string[] }[]; alerts: { alert: string; since: string | null; what: string }[] } }
  'risk': { body: object; reply: { thief: string; takes: string; most_sun: number | null;
    within: string; bound: string; says: string }[] }
  'find': { body: { text: string }; reply: { kind: 'customer' | 'order' | 'deposit' | 'wallet';
    id: string; customer_id: string | null; name: string | null; state: string | null }[] }
  'processes list': { body: object; reply: { id: string; role: string; host: string;
    version: string; started_at: string; clock_offset_ms: number; duties: string[] }[] }
  'nodes list': { body: object; reply: { name: string; head_number: number | null;
    head_time: string | null; solid_number: number | null; behind_blocks: number | null;
    answered_ms: number | null; error: string | null }[] }
  'nodes requests': { body: object; reply: { process_id: string; role: string; host: string;
    name: string; requests: number; failures: number; p50_ms: number | null; p95_ms: number | null;
    head_number: number | null; answered_at: string | null; failed_at: string | null;
    error: string | null }[] }
  'retention list': { body: object; reply: { what: string; kept_days: number | null;
    oldest_at: string | null; overdue_seconds: number | null }[] }
  'actions prove': { body: { before?: number; limit?: number }; reply: { number: number;
    previous_sha256: string; text: string; sha256: string }[] }
  'actions list': { body: { subject?: string; made_by?: string; action?: string; since?: string;
    until?: string; before?: number; limit?: number }; reply: { number: number; made_at: string;
    made_by: string; made_role: string | null; made_from: string | null; reason: string | null;
    action: string; subject: string; before: unknown; after: unknown }[] }
  'figures show': { body: object; reply: { at: string; alerts: { alert: string; what: string;
    since: string | null; raised_at: string; seen_at: string | null; seen_by: string | null }[];
    off_sale: string[]; orders_last_minute: number; ended: number; delivered: number;
    broadcast_p50_ms: number | null; broadcast_p95_ms: number | null; block_p50_ms: number | null;
    block_p95_ms: number | null; pool: { resource: string; room: number; reserved: number }[];
    chain: { head_number: number; solid_number: number; behind_seconds: number;
    silent_seconds: number } | null; earned_today_sun: number; orders_open: number;
    deposits_held: number; deposits_open: number; signing_stopped: boolean; attempts: {
    state: string; attempts: number }[] } }
  'figures history': { body: { last?: number; days?: boolean }; reply: { at: string; orders: number;
    succeeded: number; failed: number; energy: number; bandwidth: number; spent_sun: number;
    deposited_sun: number; block_p50_ms: number | null; block_p95_ms: number | null }[] }
  'alerts seen': { body: { alert: string; reason: string }; reply: { alert: string;
    seen_at: string | null; seen_by: string | null } }
  'customers create': { body: { name: string; reason: string }; reply: { id: string; name: string;
    created_at: string; deposit_address: string; state: string } }
  'customers list': { body: { limit?: number; after?: string; state?: 'active' | 'suspended'
    | 'closed'; name?: string }; reply: { id: string; name: string; created_at: string;
    deposit_address: string; state: string; spendable_sun: number | null;
    held_sun: number | null }[] }
  'customers activity': { body: { limit?: number; after?: string; state?: 'active' | 'suspended'
    | 'closed'; name?: string; days?: number; customer?: string }; reply: { customer_id: string;
    orders: number; failed: number; spent_sun: number; last_seen_at: string | null }[] }
  'customers show': { body: { customer: string }; reply: { id: string; name: string;
    created_at: string; deposit_address: string; state: string; spendable_sun: number;
    held_sun: number; subscriptions_limit: number; open_orders_limit: number; keys: { id: string;
    name: string; scopes: string[]; allowed_networks: string[]; receivers: string[];
    daily_cap_sun: number | null; require_v2: boolean; require_external_id: boolean;
    created_at: string; expires_at: string | null; revoked_at: string | null;
    made_by_key: string | null; last_used_at: string | null; old_secret_until: string | null }[];
    orders: { state: string; orders: number; amount_sun: number }[]; subscriptions: { state: string;
    resting: string | null; subscriptions: number }[]; deposits: { state: string; deposits: number;
    amount_sun: number | null }[] } }
  'customers suspend': { body: { customer: string; reason: string }; reply: { id: string;
    state: string } }
  'customers resume': { body: { customer: string; reason: string }; reply: { id: string;
    state: string } }
  'customers statement': { body: { customer: string; since?: string; until?: string }; reply: {
    customer_id: string; since: string | null; until: string | null; opening: { balance_sun: number;
    spendable_sun: number }; lines: { made_at: string; id: string; kind: string; service: string;
    external_id: string | null; amount_sun: number; held_sun: number; balance_sun: number;
    spendable_sun: number }[]; closing: { balance_sun: number; spendable_sun: number } } }
  'customers note': { body: { customer: string; text: string; reason: string }; reply: {
    customer_id: string; id: string } }
  'customers notes': { body: { customer: string; limit?: number; before?: string }; reply: {
    id: string; at: string; made_by: string; text: string }[] }
  'customers export': { body: { customer: string; reason: string }; reply: { of: string;
    made_at: string; truncated: string[]; left_out: string[]; data: object } }
  'customers erase': { body: { customer: string; nameless_invoice?: boolean; reason: string };
    reply: { id: string; users: number; sessions: number; sign_ins: number; keys: number;
    webhooks: number; watches: number; notes: number; sign_ups: number; stays: { what: string;
    why: string }[] } }
  'approvals show': { body: object; reply: { second: 'none' | 'name' | 'role'; from_sun: number } }
  'approvals set': { body: { second: 'none' | 'name' | 'role'; from_sun?: number; reason: string };
    reply: { second: 'none' | 'name' | 'role'; from_sun: number } }
  'approvals list': { body: { open?: boolean; limit?: number }; reply: { id: string;
    customer_id: string; amount_sun: number; reason: string; proposed_at: string;
    proposed_by: string; proposed_role: string; ends_at: string; approved_at: string | null;
    approved_by: string | null; approved_role: string | null; invoice_number: number | null }[] }
  'approvals give': { body: { id: string; reason: string }; reply: { id: string;
    customer_id: string; amount_sun: number; made_at: string; made_by: string; reason: string;
    invoice_number: number | null } }
  'approvals operations': { body: { limit?: number }; reply: { id: string; action: string;
    body: string; reason: string | null; proposed_at: string; proposed_by: string; ends_at: string;
    approved_at: string | null; approved_by: string | null; used_at: string | null }[] }
  'approvals allow': { body: { id: string; reason: string }; reply: { id: string; action: string;
    body: string; reason: string | null; proposed_at: string; proposed_by: string; ends_at: string;
    approved_at: string | null; approved_by: string | null; used_at: string | null } }
  'earnings list': { body: { days?: number }; reply: { day: string; service: string;
    charges: number; earned_sun: number }[] }
  'prices list': { body: object; reply: { resource: 'energy' | 'bandwidth'; min_amount: number;
    max_amount: number; price_sun: number; base_sun: number | null; since: string;
    changed_by: string; cost_of_min_sun: number; cost_of_max_sun: number }[] }
  'prices burning': { body: object; reply: { energy_sun: number | null;
    bandwidth_sun: number | null } }
  'prices set': { body: { resource: 'energy' | 'bandwidth'; tiers?: { min_amount: number;
    max_amount: number; price_sun: number }[]; replace?: boolean; yes?: boolean; reason: string };
    reply: { resource: 'energy' | 'bandwidth'; min_amount: number; max_amount: number;
    price_sun: number; base_sun: number | null; since: string; changed_by: string;
    cost_of_min_sun: number; cost_of_max_sun: number }[] }
  'prices preview': { body: { resource: 'energy' | 'bandwidth'; tiers?: { min_amount: number;
    max_amount: number; price_sun: number }[]; replace?: boolean; hours?: number }; reply: {
    min_amount: number; max_amount: number; price_sun_before: number | null;
    price_sun_after: number | null; orders: number; units: number; before_sun: number;
    after_sun: number }[] }
  'prices history': { body: { resource?: 'energy' | 'bandwidth'; limit?: number }; reply: {
    resource: 'energy' | 'bandwidth'; min_amount: number; max_amount: number; price_sun: number;
    base_sun: number | null; since: string; until: string | null; changed_by: string }[] }
  'fees list': { body: object; reply: { name: string; price_sun: number; since: string;
    changed_by: string }[] }
  'plans list': { body: object; reply: { id: number; key: string; name: string;
    activation_fee_sun: number; initial_price_sun: number; price_sun: number; included: number;
    transactions_limit: number; duration_days: number; energy_per_transaction: number;
    idle_hours: number; since: string; until: string | null; changed_by: string }[] }
  'price-rules show': { body: object; reply: { resource: string; margin_percent: number | null;
    steps: { full_percent: number; raise_percent: number }[]; floor_sun: number | null;
    refused_sun: number | null; floor_at: string | null; raise_percent: number;
    full_percent: number; raised_at: string; looked_at: string; set_at: string; set_by: string }[] }
  'price-rules preview': { body: { resource: 'energy' | 'bandwidth'; steps?: { full_percent: number;
    raise_percent: number }[]; margin?: number }; reply: { cost_1000_sun: number;
    floor_1000_sun: number | null; orders: number; units: number; since: string | null;
    base_sun: number; with_floor_sun: number; with_steps_sun: number; with_both_sun: number;
    below_floor: number; steps: { full_percent: number; raise_percent: number;
    orders: number }[] } }
  'price-rules set': { body: { resource: 'energy' | 'bandwidth'; steps?: { full_percent: number;
    raise_percent: number }[]; margin?: number; none?: boolean; reason: string }; reply: {
    resource: string; margin_percent: number | null; steps: { full_percent: number;
    raise_percent: number }[]; floor_sun: number | null; refused_sun: number | null;
    floor_at: string | null; raise_percent: number; full_percent: number; raised_at: string;
    looked_at: string; set_at: string; set_by: string }[] }
  'services list': { body: object; reply: { name: string; on_sale: boolean; changed_by: string }[] }
  'services on': { body: { names?: string[]; all?: boolean; reason: string }; reply: { name: string;
    on_sale: boolean; changed_by: string }[] }
  'services off': { body: { names?: string[]; all?: boolean; reason: string }; reply: {
    name: string; on_sale: boolean; changed_by: string }[] }
  'orders list': { body: { customer?: string; state?: 'new' | 'pending' | 'success' | 'failed';
    service?: 'energy' | 'bandwidth' | 'resource_bundle' | 'activate_address'; open?: boolean;
    address?: string; since?: string; until?: string; limit?: number; before?: string }; reply: {
    id: string; created_at: string; customer_id: string; external_id: string | null;
    service: string; address: string; energy: number; bandwidth: number; state: string;
    amount_sun: number }[] }
  'orders show': { body: { order: string }; reply: { id: string; created_at: string;
    customer_id: string; external_id: string | null; service: string; address: string;
    energy: number; bandwidth: number; state: string; amount_sun: number; key_id: string | null;
    quote_id: string | null; activate: boolean; activation_id: string | null; to_delegate: boolean;
    fee_sun: number; tx_id: string | null; tries: number; due_at: string; ended_at: string | null;
    delayed_at: string | null; ending_at: string | null; solid_at: string | null; activation: {
    id: string; state: string; tries: number; attempt_id: string | null; attempt: string | null;
    tx_id: string | null } | null; delegations: { id: string; state: string; resource: string;
    amount: number; stake_sun: number; wallet: string; delegated_at: string | null;
    expires_at: string | null; reclaimed_at: string | null; attempt_id: string;
    attempt: string | null; tx_id: string | null; reclaim_id: string | null; reclaim: string | null;
    reclaim_tx_id: string | null }[]; entries: { made_at: string; id: string; kind: string;
    debit: string; credit: string; amount_sun: number }[] } }
  'orders prove': { body: { order: string }; reply: { proof: number; order_id: string; receipt: {
    receipt: number; state: 'delivered' | 'solid' | 'ended'; service: string;
    network: string | null; issued_at: string; order: { id: string; external_id: string | null;
    service: 'energy' | 'bandwidth' | 'resource_bundle' | 'activate_address'; params: {
    address: string; amounts?: { energy?: number; bandwidth?: number }; duration?: number;
    activate_address: boolean }; amount: number; created_at: string }; activation: { hash: string;
    block_number: number; block_id: string | null; block_time: string } | null; parts: {
    resource: 'energy' | 'bandwidth'; amount: number; stake_sun: number;
    units_of_stake: number | null; hash: string; block_number: number; block_id: string | null;
    block_time: string; expires_at: string; reclaim_hash: string | null;
    reclaim_block_number: number | null }[]; entries: { id: string; kind: 'move' | 'hold'
    | 'capture' | 'release'; amount: number; number: number }[]; seal: { number: number;
    sha256: string } | null }; jws: string; keys: { kty: string; crv: string; x: string;
    kid: string; use: string; alg: string }[]; transactions: { hash: string;
    raw_data_hex: string }[]; previous_sha256: string; seals: { number: number; first_entry: number;
    last_entry: number; actions: number; record: string | null; sealed_at: string; sha256: string;
    entries: { number: number; kind: string; amount_sun: number; made_at: string; id: string;
    debit: string; credit: string; hold_id: string | null }[] }[]; root: { day: string;
    number: number; last_entry: number; sha256: string } } }
  'delegations list': { body: { order?: string; state?: 'delegating' | 'active' | 'reclaiming'
    | 'ended' | 'failed'; wallet?: string; receiver?: string; overdue?: boolean; limit?: number;
    before?: string }; reply: { id: string; state: string; resource: string; amount: number;
    stake_sun: number; wallet: string; delegated_at: string | null; expires_at: string | null;
    reclaimed_at: string | null; receiver: string; order_id: string }[] }
  'deposits list': { body: { customer?: string; state?: 'seen' | 'unproven' | 'credited'
    | 'received' | 'delivering' | 'delivered' | 'returning' | 'refunding' | 'refunded' | 'held'
    | 'ignored' | 'resolved' | 'gone'; from?: string; since?: string; until?: string;
    limit?: number }; reply: { block_time: string; state: string; amount_sun: number | null;
    token: string | null; token_amount: number | null; from_address: string; to_address: string;
    customer_id: string | null; reason: string | null; block_number: number; tx_id: string;
    position: number; age_seconds: number; risk_level: string | null }[] }
  'deposits resolve': { body: { tx_id: string; position?: number; sent_by?: string; to?: string;
    keep_rest?: boolean; credit?: string; written_off?: boolean; blocked_reviewed?: boolean;
    reason: string }; reply: { tx_id: string; position: number; amount_sun?: number | null;
    token?: string | null; token_amount?: number | null; state: string; way: string;
    sent_by: string | null; sent_to: string | null; sent_amount: number | null;
    sent_block: number | null; customer_id: string | null } }
  'accounts show': { body: { month: string }; reply: { month: string; first_day: string;
    last_day: string; accounts: { account: string; opening_sun: number; change_sun: number;
    closing_sun: number }[]; revenue: { day: string; service: string; sun: number }[] } }
  'attempts list': { body: { state?: 'new' | 'signed' | 'sent' | 'included' | 'solid' | 'dead';
    open?: boolean; subject?: string; limit?: number; before?: string }; reply: { id: string;
    made_at: string; state: string; subject: string; sends: number; answer: string | null;
    expires_at: string | null; block_number: number | null; tx_id: string | null }[] }
  'pool show': { body: object; reply: { resources: { resource: string; room: number;
    reserved: number; free: number; out: number; out_sun: number;
    units_per_1000_trx: number | null }[]; wallets: { address: string; resource: string;
    room_sun: number; carries: number; out_sun: number; delegations: number;
    surveyed_at_block: number }[] } }
  'pool forecast': { body: { hours?: number; every?: number }; reply: { resource: string;
    minutes: number; free: number; free_if_used: number; least_order: number | null;
    most_sold: number }[] }
  'pool costs': { body: { hours?: number }; reply: { since: string; hours: number; lines: {
    kind: string; orders: number; units: number; transactions: number; unknown: number;
    bandwidth: number; burned_sun: number; revenue_sun: number; order_burned_sun: number | null;
    revenue_1000_sun: number | null; burned_1000_sun: number | null;
    capital_1000_sun: number | null; votes_1000_sun: number | null;
    cost_1000_sun: number | null }[]; capital: { percent: string; staked_sun: number;
    day_sun: number }; votes: { power: number; cast: number; earned_day_sun: number;
    forgone_day_sun: number | null }; day: { revenue_sun: number; burned_sun: number;
    capital_sun: number; votes_sun: number; left_sun: number } } }
  'chain show': { body: object; reply: { head_number: number; head_id: string; head_time: string;
    solid_number: number; confirmed_number: number; unconfirmed_since: string | null;
    disputed_number: number | null; behind: number; seen_at: string; head_seen_at: string;
    silent_seconds: number; behind_seconds: number; blocks_to_solid: number; readers: {
    name: string; number: number; behind_blocks: number }[] } }
  'wallets show': { body: { wallet: string }; reply: { address: string; carries_min: number;
    resources: { address: string; resource: string; room_sun: number; carries: number;
    out_sun: number; delegations: number; surveyed_at_block: number }[]; key: { checked_at: string;
    complaints: string[]; stopped: boolean; stopped_here: boolean } | null } }
  'lists list': { body: object; reply: { list: string; entries: number | null;
    loaded_at: string | null; origin: string | null; refresh_hours: number | null;
    url: string | null; licence: string; kind: string; reader: string }[] }
  'lists show': { body: { list: string; limit?: number }; reply: { id: number; list: string;
    entries: number; passed_over: number; loaded_at: string; loaded_by: string; origin: string;
    sha256: string; first_set: number | null; last_set: number | null }[] }
  'lists preview': { body: { list: string; limit?: number; file: { name: string; text: string } };
    reply: { list: string; entries: number; entries_before: number; added: number; removed: number;
    passed_over: number; misspelt: number; watched: number; refused: string | null; differences: {
    list: string; change: string; address: string; category: string; entity: string; kind: string;
    confidence: number; reference: string; valid_from: string | null;
    valid_to: string | null }[] } }
  'lists import': { body: { list: string; shrink?: boolean; reason: string; file: { name: string;
    text: string } }; reply: { list: string; label_set: number; added: number; removed: number;
    changed: boolean; entries: number; passed_over: number; misspelt: number }[] }
  'lists revert': { body: { list: string; version: number; reason: string }; reply: { list: string;
    label_set: number; added: number; removed: number; changed: boolean; entries: number;
    passed_over: number; misspelt: number } }
  'aml status': { body: object; reply: { policy: string; label_set: number;
    generation: number | null; first_block: number | null; last_block: number | null;
    behind: number | null; hubs: number; lists: string | string[] } }
  'aml days': { body: { days?: number }; reply: { day: string; low: number; medium: number;
    high: number; failed: number; open: number }[] }
  'aml changes': { body: { since: string }; reply: { customer_id: string; address: string;
    check_id: string; from_level: string; to_level: string; ended_at: string }[] }
  'aml reviews list': { body: { state?: 'open' | 'decided'; limit?: number; before?: string };
    reply: { check_id: string; customer_id: string; address: string; state: string;
    opened_at: string; decision: string | null; reason: string | null; decided_by: string | null;
    decided_at: string | null; entry_id: string | null; next_check_id: string | null; type: string;
    network: string; hash: string | null; risk_score: string | null; risk_level: string | null;
    blacklist: boolean }[] }
  'aml reviews show': { body: { check: string }; reply: { check_id: string; customer_id: string;
    address: string; state: string; opened_at: string; decision: string | null;
    reason: string | null; decided_by: string | null; decided_at: string | null;
    entry_id: string | null; next_check_id: string | null; type: string; network: string;
    hash: string | null; risk_score: string | null; risk_level: string | null; blacklist: boolean;
    risk_factors: { name: string; label: string; group: 'low' | 'medium' | 'high';
    score: number }[]; evidence: { blacklisted_by?: string[]; floors?: { rule: string;
    category: string | null; points: string }[] } | null; earlier: { check_id: string;
    customer_id: string; address: string; state: string; opened_at: string; decision: string | null;
    reason: string | null; decided_by: string | null; decided_at: string | null;
    entry_id: string | null; next_check_id: string | null }[] } }
  'aml reviews decide': { body: { check: string; decision: 'allow' | 'deny' | 'leave';
    reason: string }; reply: { check_id: string; customer_id: string; address: string;
    state: string; opened_at: string; decision: string | null; reason: string | null;
    decided_by: string | null; decided_at: string | null; entry_id: string | null;
    next_check_id: string | null } }
  'aml cases list': { body: { state?: 'open' | 'assigned' | 'waiting' | 'escalated' | 'closed';
    owner?: string; customer?: string; late?: boolean; limit?: number; before?: string }; reply: {
    id: string; customer_id: string | null; address: string; state: string; priority: string;
    risk_level: string | null; owner: string | null; escalated_by: string | null; due_at: string;
    reminded_at: string | null; report_reference: string | null; opened_at: string;
    opened_by: string; closed_at: string | null; closed_by: string | null; code: string | null;
    is_late: boolean }[] }
  'aml cases show': { body: { case: string }; reply: { id: string; customer_id: string | null;
    address: string; state: string; priority: string; risk_level: string | null;
    owner: string | null; escalated_by: string | null; due_at: string; reminded_at: string | null;
    report_reference: string | null; opened_at: string; opened_by: string; closed_at: string | null;
    closed_by: string | null; code: string | null; is_late: boolean; subjects: { kind: string;
    subject: string; added_at: string; added_by: string }[]; reviews: { check_id: string;
    state: string; risk_score: string; decision: string | null; decided_by: string | null }[];
    entries: { number: number; kind: string; at: string; made_by: string; text: string;
    name: string | null; sha256: string | null }[]; earlier: { id: string;
    customer_id: string | null; state: string; code: string | null; opened_at: string }[] } }
  'aml cases assign': { body: { case: string; owner: string; reason: string }; reply: { id: string;
    customer_id: string | null; address: string; state: string; priority: string;
    risk_level: string | null; owner: string | null; escalated_by: string | null; due_at: string;
    reminded_at: string | null; report_reference: string | null; opened_at: string;
    opened_by: string; closed_at: string | null; closed_by: string | null; code: string | null } }
  'aml cases wait': { body: { case: string; until: string; reason: string }; reply: { id: string;
    customer_id: string | null; address: string; state: string; priority: string;
    risk_level: string | null; owner: string | null; escalated_by: string | null; due_at: string;
    reminded_at: string | null; report_reference: string | null; opened_at: string;
    opened_by: string; closed_at: string | null; closed_by: string | null; code: string | null } }
  'aml cases escalate': { body: { case: string; reason: string }; reply: { id: string;
    customer_id: string | null; address: string; state: string; priority: string;
    risk_level: string | null; owner: string | null; escalated_by: string | null; due_at: string;
    reminded_at: string | null; report_reference: string | null; opened_at: string;
    opened_by: string; closed_at: string | null; closed_by: string | null; code: string | null } }
  'aml cases set': { body: { case: string; priority?: 'low' | 'normal' | 'high' | 'urgent';
    due?: string; report?: string; reason: string }; reply: { id: string;
    customer_id: string | null; address: string; state: string; priority: string;
    risk_level: string | null; owner: string | null; escalated_by: string | null; due_at: string;
    reminded_at: string | null; report_reference: string | null; opened_at: string;
    opened_by: string; closed_at: string | null; closed_by: string | null; code: string | null } }
  'aml cases note': { body: { case: string; text: string; reason: string }; reply: { case: string;
    number: number } }
  'aml cases attach': { body: { case: string; name: string; text: string; reason: string }; reply: {
    case: string; number: number; sha256: string } }
  'aml cases close': { body: { case: string; code: 'false_positive' | 'explained' | 'barred'
    | 'reported'; reason: string }; reply: { id: string; customer_id: string | null;
    address: string; state: string; priority: string; risk_level: string | null;
    owner: string | null; escalated_by: string | null; due_at: string; reminded_at: string | null;
    report_reference: string | null; opened_at: string; opened_by: string; closed_at: string | null;
    closed_by: string | null; code: string | null } }
  'aml cases reopen': { body: { case: string; reason: string }; reply: { id: string;
    customer_id: string | null; address: string; state: string; priority: string;
    risk_level: string | null; owner: string | null; escalated_by: string | null; due_at: string;
    reminded_at: string | null; report_reference: string | null; opened_at: string;
    opened_by: string; closed_at: string | null; closed_by: string | null; code: string | null } }
  'aml watches': { body: { limit?: number; address?: string; customer?: string; level?: 'low'
    | 'medium' | 'high' }; reply: { customer_id: string; address: string; made_at: string;
    label_set: number | null; check_id: string | null; state: string | null;
    risk_score: string | null; risk_level: string | null }[] }
  'aml policies': { body: { limit?: number }; reply: { version: number; published_at: string | null;
    published_by: string | null; changes: { field: string; before: string | null;
    after: string | null }[] }[] }
  'aml providers': { body: object; reply: { name: string; processes: number; left_alone: number;
    in_policy: boolean; asked_hour: number; answered_hour: number; failed_hour: number;
    asked_day: number; answered_day: number; failed_day: number; quota_day: number;
    answered_at: string | null; failed_at: string | null; failure: string | null;
    error: string | null }[] }
  'aml index': { body: object; reply: { memory: { process_id: string; role: string; host: string;
    generation: number; label_set: number; in_use: boolean; block_number: number; slots: number;
    memory_bytes: number }[]; checkpoints: { generation: number; block_number: number;
    made_at: string; bytes: number }[]; log_bytes: number; carried_bytes: number } }
  'books check': { body: { since?: string; noted?: string[] }; reply: { books_balanced: boolean;
    rules: { rule: string; says: string; state: string; note: string | null; stops_selling: boolean;
    findings: { subject: string; found: string }[] }[]; roots_compared: number;
    record_sha256: string | null; journal_sha256: string | null } }
  'books findings': { body: { limit?: number }; reply: { checked_at: string | null;
    findings: number; listed: { rule: string; subject: string; found: string;
    found_at: string }[] } }
  'books compare': { body: { noted: string }; reply: { roots_compared: number; differing: {
    subject: string; found: string }[] } }
  'events show': { body: object; reply: { order_created: boolean; from: string | null } }
  'events set': { body: { order_created: 'told' | 'untold'; reason: string }; reply: {
    order_created: boolean; from: string | null } }
  'events list': { body: { customer: string; type?: string[]; subject?: string; before?: number;
    limit?: number }; reply: { number: number; id: string; at: string; type: string;
    subject: string; test: boolean; data: unknown }[] }
  'incidents list': { body: { limit?: number }; reply: { id: string; title: string; what: string;
    parts: string[]; began_at: string; posted_at: string; closed_at: string | null;
    outcome: string | null }[] }
  'incidents post': { body: { title: string; what: string; part?: ('buying' | 'delivering'
    | 'deposits' | 'screening' | 'events')[]; since?: string; reason: string }; reply: { id: string;
    title: string; what: string; parts: string[]; began_at: string; posted_at: string;
    closed_at: string | null; outcome: string | null } }
  'incidents update': { body: { id: string; what: string; reason: string }; reply: { id: string;
    title: string; what: string; parts: string[]; began_at: string; posted_at: string;
    closed_at: string | null; outcome: string | null } }
  'incidents close': { body: { id: string; outcome?: string; reason: string }; reply: { id: string;
    title: string; what: string; parts: string[]; began_at: string; posted_at: string;
    closed_at: string | null; outcome: string | null } }
  'status-page show': { body: object; reply: { pool_shown: boolean; prices_shown: boolean } }
  'status-page set': { body: { pool?: 'shown' | 'hidden'; prices?: 'shown' | 'hidden';
    reason: string }; reply: { pool_shown: boolean; prices_shown: boolean } }
  'brand show': { body: object; reply: { name: string; accent: string | null;
    support: string | null; terms_url: string | null; explorer: string | null } }
  'brand set': { body: { name?: string; accent?: string; support?: string; terms_url?: string;
    explorer?: string; reason: string }; reply: { name: string; accent: string | null;
    support: string | null; terms_url: string | null; explorer: string | null } }
  'users list': { body: { customer: string; limit?: number; before?: string }; reply: { id: string;
    customer_id: string | null; name: string; role: string; sign_in_name: string | null;
    passkeys: number; totp: boolean; invited_at: string; joined_at: string | null;
    ended_at: string | null }[] }
  'users invite': { body: { customer: string; name: string; role?: 'owner' | 'developer' | 'finance'
    | 'reader'; reason: string }; reply: { id: string; link: string; ends_at: string } }
  'users export': { body: { user: string; reason: string }; reply: { of: string; made_at: string;
    truncated: string[]; left_out: string[]; data: object } }
  'users erase': { body: { user: string; reason: string }; reply: { id: string; users: number;
    sessions: number; sign_ins: number; keys: number; webhooks: number; watches: number;
    notes: number; sign_ups: number; stays: { what: string; why: string }[] } }
  'operators list': { body: { limit?: number; before?: string }; reply: { id: string;
    customer_id: string | null; name: string; role: string; sign_in_name: string | null;
    passkeys: number; totp: boolean; invited_at: string; joined_at: string | null;
    ended_at: string | null }[] }
  'operators invite': { body: { name: string; role?: 'auditor' | 'operator' | 'admin';
    reason: string }; reply: { id: string; link: string; ends_at: string } }
  'operators recover': { body: { user: string; reason: string }; reply: { id: string; link: string;
    ends_at: string } }
  'operators remove': { body: { user: string; reason: string }; reply: { id: string;
    customer_id: string | null; name: string; role: string; sign_in_name: string | null;
    passkeys: number; totp: boolean; invited_at: string; joined_at: string | null;
    ended_at: string | null } }
  'sessions list': { body: { customer?: string; limit?: number; before?: string }; reply: {
    id: string; user_id: string; name: string; made_at: string; used_at: string; ip: string;
    browser: string }[] }
  'sessions end': { body: { session: string; reason: string }; reply: { id: string;
    ended: number } }
}
