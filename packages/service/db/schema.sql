-- The sum of the migrations in this folder, for reading. Printed by `npm run print`; a test says that it is fresh.

create sequence customer_deposit_index as integer start 0 increment 1;

create sequence transaction_stamp as integer start 1 increment 1;

create table account (
  id text not null,
  may_go_negative boolean default false not null,
  posted_sun bigint default 0 not null,
  held_sun bigint default 0 not null,
  constraint account_pkey primary key (id),
  constraint account_held_not_negative check (held_sun >= 0),
  constraint account_not_overdrawn check (may_go_negative or (posted_sun - held_sun) >= 0),
  constraint account_of_customer_never_negative check (not may_go_negative or id !~~ 'customer:%' or id = 'customer:direct_recharge'),
  constraint account_system_keeps_no_sum check (not may_go_negative or posted_sun = 0 and held_sun = 0)
) with (fillfactor=50);

create table activation (
  id text not null,
  address text not null,
  state text default 'new' not null,
  attempt_id text,
  tries integer default 0 not null,
  made_at timestamptz not null,
  constraint activation_pkey primary key (id),
  constraint activation_attempt foreign key (attempt_id) references attempt(id),
  constraint activation_state check (state in ('new', 'activating', 'active', 'failed'))
);
create index activation_of_address on activation (address) where (state <> 'failed');
create index activation_of_attempt on activation (attempt_id);
create unique index activation_one_under_way on activation (address) where (state in ('new', 'activating'));
create index activation_open on activation (made_at) where (state in ('new', 'activating'));

create table activation_float (
  one boolean default true not null,
  address text not null,
  payable bigint not null,
  block_number bigint not null,
  constraint activation_float_pkey primary key (one),
  constraint activation_float_has_one_row check (one),
  constraint activation_float_payable check (payable >= 0)
);

create table alert (
  alert text not null,
  what text not null,
  since timestamptz,
  raised_at timestamptz not null,
  seen_at timestamptz,
  seen_by text,
  constraint alert_pkey primary key (alert),
  constraint alert_seen check ((seen_at is null) = (seen_by is null))
);

create table aml_answer (
  id bigint generated always as identity not null,
  check_id text not null,
  provider text not null,
  outcome text not null,
  body bytea not null,
  sha256 text not null,
  received_at timestamptz not null,
  error text,
  constraint aml_answer_pkey primary key (id),
  constraint aml_answer_of_check foreign key (check_id) references aml_check(id)
);
create index aml_answer_of_check on aml_answer (check_id);
create index aml_answer_of_provider on aml_answer (provider, outcome, received_at);

create table aml_case (
  id text not null,
  customer_id text,
  address text not null,
  state text default 'open' not null,
  priority text not null,
  risk_level text,
  owner text,
  escalated_by text,
  due_at timestamptz not null,
  reminded_at timestamptz,
  report_reference text,
  opened_at timestamptz not null,
  opened_by text not null,
  closed_at timestamptz,
  closed_by text,
  code text,
  constraint aml_case_pkey primary key (id),
  constraint aml_case_of_customer foreign key (customer_id) references customer(id),
  constraint aml_case_by_another check (lower(btrim(owner)) <> lower(btrim(escalated_by)) and lower(btrim(closed_by)) <> lower(btrim(escalated_by))),
  constraint aml_case_closed check (num_nulls(closed_at, closed_by, code) =
case
    when state = 'closed' then 0
    else 3
end),
  constraint aml_case_code check (code in ('false_positive', 'explained', 'barred', 'reported')),
  constraint aml_case_escalated check (state <> 'escalated' or escalated_by is not null),
  constraint aml_case_level check (risk_level in ('low', 'medium', 'high')),
  constraint aml_case_owned check ((state in ('assigned', 'waiting')) and owner is not null or (state in ('open', 'escalated')) and owner is null or state = 'closed'),
  constraint aml_case_priority check (priority in ('low', 'normal', 'high', 'urgent')),
  constraint aml_case_reported check (code <> 'reported' or report_reference is not null),
  constraint aml_case_state check (state in ('open', 'assigned', 'waiting', 'escalated', 'closed')),
  constraint aml_case_texts check (char_length(owner) >= 1 and char_length(owner) <= 100 and char_length(report_reference) >= 1 and char_length(report_reference) <= 200)
);
create index aml_case_by_state on aml_case (state, id);
create index aml_case_late on aml_case (due_at) where ((state <> 'closed') and (reminded_at is null));
create index aml_case_of_address on aml_case (address, id);
create unique index aml_case_once on aml_case (coalesce(customer_id, ''), address) where (state <> 'closed');

create table aml_case_alert (
  id bigint generated always as identity not null,
  customer_id text not null,
  address text not null,
  at timestamptz not null,
  text text not null,
  constraint aml_case_alert_pkey primary key (id)
);

create table aml_case_entry (
  case_id text not null,
  number integer not null,
  kind text not null,
  at timestamptz not null,
  made_by text not null,
  text text not null,
  name text,
  sha256 text,
  constraint aml_case_entry_pkey primary key (case_id, number),
  constraint aml_case_entry_of_case foreign key (case_id) references aml_case(id),
  constraint aml_case_entry_file check ((kind = 'file') = (name is not null) and (kind = 'file') = (sha256 is not null)),
  constraint aml_case_entry_kind check (kind in ('opened', 'review', 'alert', 'added', 'assigned', 'waiting', 'escalated', 'changed', 'late', 'note', 'file', 'closed', 'reopened')),
  constraint aml_case_entry_lengths check (char_length(name) >= 1 and char_length(name) <= 200 and char_length(text) <=
case
    when kind = 'file' then 100000
    else 4000
end)
);

create table aml_case_subject (
  case_id text not null,
  kind text not null,
  subject text not null,
  added_at timestamptz not null,
  added_by text not null,
  constraint aml_case_subject_pkey primary key (case_id, kind, subject),
  constraint aml_case_subject_of_case foreign key (case_id) references aml_case(id),
  constraint aml_case_subject_kind check (kind in ('address', 'check', 'deposit'))
);
create index aml_case_subject_by_subject on aml_case_subject (kind, subject);

create table aml_check (
  id text not null,
  customer_id text not null,
  idempotency_key text,
  type text not null,
  network text not null,
  address text not null,
  hash text,
  direction text,
  state text default 'pending' not null,
  price_sun bigint not null,
  key_id text,
  solid_number bigint not null,
  due_at timestamptz not null,
  tries integer default 0 not null,
  created_at timestamptz not null,
  ended_at timestamptz,
  risk_score text,
  risk_level text,
  blacklist boolean default false not null,
  risk_factors jsonb default '[]'::jsonb not null,
  error text,
  provider text,
  policy integer,
  label_set integer,
  generation integer,
  index_number bigint,
  evidence_sha256 text,
  supersedes text,
  sent_factors jsonb default '[]'::jsonb not null,
  constraint aml_check_pkey primary key (id),
  constraint aml_check_idempotency_once unique (customer_id, idempotency_key),
  constraint aml_check_supersedes foreign key (supersedes) references aml_check(id),
  constraint aml_check_completed_has_result check ((state = 'completed') = (risk_score is not null) and (risk_score is null) = (risk_level is null) and (state = 'completed' or not blacklist and risk_factors = '[]'::jsonb)),
  constraint aml_check_direction check (direction in ('deposit', 'withdrawal')),
  constraint aml_check_ended check ((state in ('completed', 'failed')) = (ended_at is not null)),
  constraint aml_check_failed_says_why check ((state = 'failed') = (error is not null)),
  constraint aml_check_hash_has_hash check ((type = 'hash') = (hash is not null)),
  constraint aml_check_level check (risk_level in ('low', 'medium', 'high')),
  constraint aml_check_price_not_negative check (price_sun >= 0),
  constraint aml_check_state check (state in ('pending', 'processing', 'completed', 'failed')),
  constraint aml_check_type check (type in ('address', 'hash'))
);
create index aml_check_of_customer on aml_check (customer_id, created_at desc, id desc);
create index aml_check_of_customer_by_state on aml_check (customer_id, state, created_at desc, id desc);
create index aml_check_open on aml_check (due_at, id) where (state in ('pending', 'processing'));
create index aml_check_superseding on aml_check (supersedes) where (supersedes is not null);

create table aml_count (
  customer_id text not null,
  state text not null,
  n bigint not null,
  day date not null,
  constraint aml_count_pkey primary key (customer_id, day, state)
);

create table aml_count_delta (
  id bigint generated always as identity not null,
  customer_id text not null,
  state text not null,
  d bigint not null,
  day date not null,
  constraint aml_count_delta_pkey primary key (id)
);
create index aml_count_delta_of_customer on aml_count_delta (customer_id);

create table aml_entry (
  id text not null,
  customer_id text,
  address text not null,
  kind text not null,
  reason text not null,
  made_by text not null,
  made_at timestamptz not null,
  expires_at timestamptz,
  withdrawn_at timestamptz,
  seen_severe_bp integer,
  seen_severe_usd bigint,
  constraint aml_entry_pkey primary key (id),
  constraint aml_entry_kind check (kind in ('allow', 'deny')),
  constraint aml_entry_reason_given check (char_length(reason) >= 1 and char_length(reason) <= 1000)
);
create index aml_entry_of_address on aml_entry (address);

create table aml_evidence (
  check_id text not null,
  canonical text not null,
  sha256 text not null,
  constraint aml_evidence_pkey primary key (check_id),
  constraint aml_evidence_of_check foreign key (check_id) references aml_check(id),
  constraint aml_evidence_hash_is_true check (encode(sha256(convert_to(canonical, 'UTF8'::name)), 'hex') = sha256)
);

create table aml_price (
  id bigint generated always as identity not null,
  type text not null,
  price_sun bigint not null,
  since timestamptz default now() not null,
  until timestamptz,
  changed_by text not null,
  constraint aml_price_pkey primary key (id),
  constraint aml_price_positive check (price_sun > 0),
  constraint aml_price_type check (type in ('address', 'hash'))
);
create unique index aml_price_once on aml_price (type) where (until is null);

create table aml_review (
  check_id text not null,
  customer_id text not null,
  address text not null,
  risk_score numeric not null,
  state text default 'open' not null,
  opened_at timestamptz not null,
  decision text,
  reason text,
  decided_by text,
  decided_at timestamptz,
  entry_id text,
  next_check_id text,
  constraint aml_review_pkey primary key (check_id),
  constraint aml_review_entry foreign key (entry_id) references aml_entry(id),
  constraint aml_review_next_check foreign key (next_check_id) references aml_check(id),
  constraint aml_review_of_check foreign key (check_id) references aml_check(id),
  constraint aml_review_decided check ((state = 'decided') = (decision is not null) and (state = 'decided') = (reason is not null) and (state = 'decided') = (decided_by is not null) and (state = 'decided') = (decided_at is not null)),
  constraint aml_review_decision check (decision in ('allow', 'deny', 'leave')),
  constraint aml_review_effect check ((entry_id is not null) = (coalesce(decision, 'leave') <> 'leave') and (next_check_id is not null) = (entry_id is not null)),
  constraint aml_review_state check (state in ('open', 'decided'))
);
create index aml_review_by_state on aml_review (state, check_id);
create index aml_review_of_address on aml_review (customer_id, address, check_id);
create unique index aml_review_open on aml_review (customer_id, address) where (state = 'open');

create table aml_service (
  type text not null,
  on_sale boolean not null,
  changed_by text not null,
  constraint aml_service_pkey primary key (type),
  constraint aml_service_type check (type in ('address', 'hash'))
);

create table aml_watch (
  customer_id text not null,
  address text not null,
  made_at timestamptz not null,
  label_set integer not null,
  check_id text,
  moved_number bigint,
  due_at timestamptz default '-infinity'::timestamptz not null,
  reference text,
  any_incoming_usd bigint,
  severe_share_bp integer,
  severe_usd bigint,
  sent_to boolean default false not null,
  seen_share_bp integer,
  seen_usd bigint,
  constraint aml_watch_pkey primary key (customer_id, address),
  constraint aml_watch_check foreign key (check_id) references aml_check(id),
  constraint aml_watch_any_incoming check (any_incoming_usd >= 0),
  constraint aml_watch_severe_share check (severe_share_bp >= 1 and severe_share_bp <= 10000),
  constraint aml_watch_severe_usd check (severe_usd >= 1)
);
create index aml_watch_by_set on aml_watch (label_set);
create index aml_watch_due on aml_watch (due_at);
create index aml_watch_in_order on aml_watch (customer_id, made_at, address);
create index aml_watch_of_address on aml_watch (address);
create index aml_watch_of_check on aml_watch (check_id);

create table answered_challenge (
  challenge_hash text not null,
  ends_at timestamptz not null,
  constraint answered_challenge_pkey primary key (challenge_hash)
);
create index answered_challenge_by_end on answered_challenge (ends_at);

create table api_key (
  id text not null,
  customer_id text not null,
  name text not null,
  token_hash text,
  sealed_secret text,
  scopes text[],
  allowed_networks text[],
  daily_cap_sun bigint,
  require_v2 boolean not null,
  created_at timestamptz not null,
  revoked_at timestamptz,
  expires_at timestamptz,
  require_external_id boolean default false not null,
  secret_made_at timestamptz not null,
  old_sealed_secret text,
  old_secret_made_at timestamptz,
  old_secret_until timestamptz,
  made_by_key text,
  spends_from text,
  last_used_at timestamptz,
  ending_at timestamptz,
  user_id text,
  spending_counted_from date,
  secret_by_key text,
  receivers text[],
  constraint api_key_pkey primary key (id),
  constraint api_key_token_once unique (token_hash),
  constraint api_key_made_by_key foreign key (made_by_key) references api_key(id),
  constraint api_key_of_customer foreign key (customer_id) references customer(id),
  constraint api_key_of_user foreign key (user_id) references service_user(id),
  constraint api_key_secret_by_key foreign key (secret_by_key) references api_key(id),
  constraint api_key_spends_from foreign key (spends_from) references api_key(id),
  constraint api_key_allowed_networks_not_empty check (cardinality(allowed_networks) > 0),
  constraint api_key_daily_cap_not_negative check (daily_cap_sun >= 0),
  constraint api_key_name_length check (char_length(name) >= 1 and char_length(name) <= 200),
  constraint api_key_old_secret_whole check (num_nulls(old_sealed_secret, old_secret_made_at, old_secret_until) in (0, 3)),
  constraint api_key_scopes_known check (scopes <@ array['read', 'buy', 'aml', 'money', 'webhooks', 'manage'] and cardinality(scopes) > 0),
  constraint api_key_signs_or_is_users check (
case
    when user_id is null then num_nulls(token_hash, sealed_secret) = 0
    else user_id = id and num_nonnulls(token_hash, sealed_secret, old_sealed_secret) = 0
end),
  constraint api_key_token_hash_form check (token_hash ~ '^[0-9a-f]{64}$')
);
create index api_key_ending on api_key (expires_at) where ((revoked_at is null) and (ending_at is null) and (expires_at is not null));
create index api_key_of_customer on api_key (customer_id, id);

create table api_key_cap (
  key_id text not null,
  day date not null,
  told_at timestamptz,
  constraint api_key_cap_pkey primary key (key_id, day),
  constraint api_key_cap_key foreign key (key_id) references api_key(id)
);
create index api_key_cap_to_tell on api_key_cap (key_id) where (told_at is null);

create table api_key_nonce (
  key_id text not null,
  nonce text not null,
  seen_at timestamptz not null,
  constraint api_key_nonce_once primary key (key_id, nonce)
);
create index api_key_nonce_by_age on api_key_nonce (seen_at);

create table api_key_spending (
  key_id text not null,
  day date not null,
  spent_sun bigint not null,
  constraint api_key_spending_pkey primary key (key_id, day),
  constraint api_key_spending_key foreign key (key_id) references api_key(id)
);

create table approval_rule (
  since timestamptz not null,
  second text not null,
  from_sun bigint not null,
  set_by text not null,
  summed boolean default false not null,
  constraint approval_rule_pkey primary key (since),
  constraint approval_rule_from check (from_sun >= 0),
  constraint approval_rule_second check (second in ('none', 'name', 'role'))
);

create table attempt (
  id text not null,
  subject text not null,
  contract jsonb not null,
  state text default 'new' not null,
  tx_id text,
  signed bytea,
  expires_at timestamptz,
  send_at timestamptz not null,
  sends integer default 0 not null,
  answer text,
  block_number bigint,
  block_time timestamptz,
  made_at timestamptz not null,
  sent_at timestamptz,
  uncovered boolean default false not null,
  refused_at timestamptz,
  block_id text,
  fee_sun bigint,
  bandwidth bigint,
  energy bigint,
  stamp bytea,
  constraint attempt_pkey primary key (id),
  constraint attempt_tx_id_unique unique (tx_id),
  constraint attempt_cost check ((fee_sun is null) = (bandwidth is null) and (fee_sun is null) = (energy is null) and (fee_sun is null or block_number is not null) and fee_sun >= 0 and bandwidth >= 0 and energy >= 0),
  constraint attempt_in_a_block check ((state in ('included', 'solid')) = (block_number is not null) and (block_number is null) = (block_time is null)),
  constraint attempt_signed_has_bytes check ((tx_id is null) = (signed is null and stamp is null) and (tx_id is null) = (expires_at is null) and (state <> 'new' or tx_id is null) and ((state in ('new', 'dead')) or tx_id is not null)),
  constraint attempt_stamp check (stamp is null or state = 'solid' and octet_length(stamp) =
case
    when signed is null then 18
    else 0
end),
  constraint attempt_state check (state in ('new', 'signed', 'sent', 'included', 'solid', 'dead'))
);
create index attempt_dead on attempt (id) where (state = 'dead');
create index attempt_not_solid on attempt (block_number) where (state = 'included');
create unique index attempt_one_alive on attempt (subject) where (state <> 'dead');
create index attempt_refused on attempt (refused_at) where (refused_at is not null);
create index attempt_to_empty on attempt (block_time) where ((state = 'solid') and (signed is not null) and (stamp is null));
create index attempt_to_send on attempt (send_at) where (state in ('signed', 'sent'));
create index attempt_to_sign on attempt (send_at) where (state = 'new');
create index attempt_uncovered on attempt (id) where uncovered;

create table backup (
  place text not null,
  id text not null,
  made_at timestamptz not null,
  bytes bigint not null,
  checked_at timestamptz,
  restored_at timestamptz,
  found text[] default '{}'[] not null,
  constraint backup_pkey primary key (place, id),
  constraint backup_bytes check (bytes >= 0)
);
create index backup_made on backup (made_at);

create table block (
  number bigint not null,
  id text not null,
  parent_id text not null,
  "time" timestamptz not null,
  contents json not null,
  read_from text[] default '{}'[] not null,
  outcomes_sha256 text default '' not null,
  constraint block_pkey primary key (number)
);

create table books_check (
  one boolean default true not null,
  checked_at timestamptz not null,
  due_at timestamptz not null,
  constraint books_check_pkey primary key (one),
  constraint books_check_has_one_row check (one)
);

create table books_finding (
  rule text not null,
  subject text not null,
  found text not null,
  found_at timestamptz not null,
  gone_at timestamptz,
  accepted_at timestamptz,
  constraint books_finding_pkey primary key (rule, subject, found)
);

create table brand (
  one boolean default true not null,
  name text default 'Penstock' not null,
  accent text,
  support text,
  terms_url text,
  explorer text,
  constraint brand_pkey primary key (one),
  constraint brand_accent_is_a_colour check (accent ~ '^#[0-9a-f]{6}$'),
  constraint brand_explorer_length check (length(explorer) >= 1 and length(explorer) <= 1000),
  constraint brand_has_one_row check (one),
  constraint brand_name_length check (length(name) >= 1 and length(name) <= 40),
  constraint brand_support_length check (length(support) >= 1 and length(support) <= 200),
  constraint brand_terms_url_length check (length(terms_url) >= 1 and length(terms_url) <= 1000)
);

create table capital (
  one boolean default true not null,
  hundredths integer not null,
  set_at timestamptz not null,
  set_by text not null,
  constraint capital_pkey primary key (one),
  constraint capital_hundredths check (hundredths >= 0 and hundredths <= 10000),
  constraint capital_one check (one)
);

create table chain (
  one boolean default true not null,
  head_number bigint not null,
  head_id text not null,
  head_time timestamptz not null,
  solid_number bigint not null,
  behind integer default 0 not null,
  seen_at timestamptz not null,
  head_seen_at timestamptz default now() not null,
  confirmed_number bigint not null,
  unconfirmed_since timestamptz,
  disputed_number bigint,
  constraint chain_pkey primary key (one),
  constraint chain_confirmed_not_above_solid check (confirmed_number <= solid_number),
  constraint chain_has_one_row check (one),
  constraint chain_solid_not_above_head check (solid_number <= head_number)
);

create table collection (
  id text not null,
  receiver text not null,
  digest text not null,
  expires_at timestamptz not null,
  made_at timestamptz not null,
  made_by text not null,
  constraint collection_pkey primary key (id)
);

create table collection_transfer (
  tx_id text not null,
  collection_id text not null,
  "position" integer not null,
  address text not null,
  deposit_index integer not null,
  token text,
  amount numeric(78,0) not null,
  energy bigint,
  raw_data bytea not null,
  expires_at timestamptz not null,
  state text default 'made' not null,
  due_at timestamptz not null,
  moved numeric(78,0),
  fee_sun bigint,
  block_number bigint,
  ended_at timestamptz,
  energy_by text,
  energy_at timestamptz,
  energy_due_at timestamptz,
  energy_amount bigint,
  energy_order text,
  energy_said text,
  constraint collection_transfer_pkey primary key (tx_id),
  constraint collection_transfer_place unique (collection_id, "position"),
  constraint collection_transfer_energy_by foreign key (energy_by) references customer(id),
  constraint collection_transfer_of_collection foreign key (collection_id) references collection(id),
  constraint collection_transfer_amount check (amount > 0::numeric and (energy is null) = (token is null)),
  constraint collection_transfer_end check ((state = 'made') = (ended_at is null) and (state in ('collected', 'failed')) = (block_number is not null) and (block_number is null) = (moved is null) and (block_number is null) = (fee_sun is null) and (state <> 'collected' or moved > 0::numeric) and (state <> 'failed' or moved = 0::numeric)),
  constraint collection_transfer_energy check ((energy_by is null or token is not null and energy_at is not null) and (energy_order is null or energy_amount > 0)),
  constraint collection_transfer_state check (state in ('made', 'collected', 'failed', 'dead'))
);
create index collection_transfer_of_address on collection_transfer (address);
create unique index collection_transfer_one_alive on collection_transfer (address, coalesce(token, '')) where (state = 'made');
create index collection_transfer_to_energize on collection_transfer (energy_due_at) where ((energy_by is not null) and (energy_order is null) and (state = 'made'));
create index collection_transfer_to_judge on collection_transfer (due_at) where (state = 'made');

create table correction (
  id text not null,
  customer_id text not null,
  amount_sun bigint not null,
  made_at timestamptz not null,
  made_by text not null,
  reason text not null,
  invoice_number bigint,
  constraint correction_pkey primary key (id),
  constraint correction_invoice foreign key (invoice_number) references invoice(number) deferrable initially deferred,
  constraint correction_of_customer foreign key (customer_id) references customer(id),
  constraint correction_id_length check (char_length(id) >= 1 and char_length(id) <= 100),
  constraint correction_of_invoice_credits check (invoice_number is null or amount_sun > 0),
  constraint correction_of_something check (amount_sun <> 0)
);
create index correction_of_customer on correction (customer_id, made_at);

create table correction_proposal (
  id text not null,
  customer_id text not null,
  amount_sun bigint not null,
  reason text not null,
  proposed_at timestamptz not null,
  proposed_by text not null,
  proposed_role text not null,
  ends_at timestamptz not null,
  approved_at timestamptz,
  approved_by text,
  approved_role text,
  invoice_number bigint,
  constraint correction_proposal_pkey primary key (id),
  constraint correction_proposal_of_customer foreign key (customer_id) references customer(id),
  constraint correction_proposal_approved check ((approved_at is null) = (approved_by is null) and (approved_at is null) = (approved_role is null)),
  constraint correction_proposal_by_another check (lower(btrim(approved_by)) <> lower(btrim(proposed_by))),
  constraint correction_proposal_id_length check (char_length(id) >= 1 and char_length(id) <= 100),
  constraint correction_proposal_in_time check (ends_at > proposed_at and approved_at < ends_at),
  constraint correction_proposal_of_something check (amount_sun <> 0)
);
create index correction_proposal_by_time on correction_proposal (proposed_at);

create table cursor (
  name text not null,
  number bigint not null,
  constraint cursor_pkey primary key (name)
);

create table customer (
  id text not null,
  name text not null,
  created_at timestamptz not null,
  deposit_index integer not null,
  deposit_address text not null,
  state text default 'active' not null,
  subscriptions_limit integer,
  open_orders_limit integer,
  constraint customer_pkey primary key (id),
  constraint customer_deposit_address_once unique (deposit_address),
  constraint customer_deposit_index_once unique (deposit_index),
  constraint customer_deposit_address_length check (char_length(deposit_address) = 34),
  constraint customer_deposit_index_not_negative check (deposit_index >= 0),
  constraint customer_limits check (least(subscriptions_limit, open_orders_limit) >= 0),
  constraint customer_name_length check (char_length(name) >= 1 and char_length(name) <= 200),
  constraint customer_state_known check (state in ('active', 'suspended', 'closed'))
);

create table customer_action (
  customer_id text not null,
  number bigint not null,
  made_at timestamptz not null,
  made_by text not null,
  action text not null,
  subject text not null,
  before jsonb,
  after jsonb,
  ip text,
  sha256 text not null,
  constraint customer_action_pkey primary key (customer_id, number),
  constraint customer_action_of_customer foreign key (customer_id) references customer(id)
);
create index customer_action_by_actor on customer_action (customer_id, made_by, number);
create index customer_action_by_subject on customer_action (customer_id, subject text_pattern_ops, number);
create index customer_action_by_time on customer_action (customer_id, made_at);

create table customer_note (
  id text not null,
  customer_id text not null,
  at timestamptz not null,
  made_by text not null,
  text text not null,
  constraint customer_note_pkey primary key (id),
  constraint customer_note_of_customer foreign key (customer_id) references customer(id),
  constraint customer_note_text check (char_length(text) >= 1 and char_length(text) <= 2000)
);
create index customer_note_in_order on customer_note (customer_id, id);

create table customer_setting (
  customer_id text not null,
  balance_low_sun bigint,
  ending_minutes integer,
  billing text[] default '{}'[] not null,
  changed_at timestamptz not null,
  balance_low_at timestamptz,
  constraint customer_setting_pkey primary key (customer_id),
  constraint customer_setting_of_customer foreign key (customer_id) references customer(id),
  constraint customer_setting_balance_low check (balance_low_sun > 0),
  constraint customer_setting_billing check (cardinality(billing) <= 8),
  constraint customer_setting_ending_minutes check (ending_minutes >= 1 and ending_minutes <= 55)
);
create index customer_setting_balance_low on customer_setting (customer_id) where (balance_low_sun is not null);
create index customer_setting_ending on customer_setting (customer_id) where (ending_minutes is not null);

create table database_loss (
  process_id text not null,
  found_at timestamptz not null,
  host text not null,
  role text not null,
  beat bigint not null,
  beat_found bigint,
  missing text[] not null,
  accepted_at timestamptz,
  restored_to timestamptz,
  from_block bigint,
  reconciled_at timestamptz,
  constraint database_loss_pkey primary key (process_id, found_at),
  constraint database_loss_beat check (beat >= 0)
);
create index database_loss_open on database_loss (found_at) where (accepted_at is null);

create table delegation (
  id text not null,
  order_id text not null,
  wallet text not null,
  receiver text not null,
  resource text not null,
  amount bigint not null,
  stake_sun bigint not null,
  state text default 'delegating' not null,
  attempt_id text not null,
  reclaim_id text,
  delegated_at timestamptz,
  expires_at timestamptz,
  reclaimed_at timestamptz,
  total_limit bigint,
  total_weight bigint,
  constraint delegation_pkey primary key (id),
  constraint delegation_attempt_once unique (attempt_id),
  constraint delegation_reclaim_once unique (reclaim_id),
  constraint delegation_attempt foreign key (attempt_id) references attempt(id),
  constraint delegation_order foreign key (order_id) references orders(id),
  constraint delegation_reclaim foreign key (reclaim_id) references attempt(id),
  constraint delegation_resource foreign key (resource) references pool(resource),
  constraint delegation_amounts check (amount > 0 and stake_sun >= 1000000),
  constraint delegation_has_its_times check ((state in ('delegating', 'failed')) = (delegated_at is null) and (delegated_at is null) = (expires_at is null) and (state = 'ended') = (reclaimed_at is not null) and ((state not in ('reclaiming', 'ended')) or reclaim_id is not null)),
  constraint delegation_state check (state in ('delegating', 'active', 'reclaiming', 'ended', 'failed'))
);
create index delegation_of_order on delegation (order_id);
create index delegation_of_wallet on delegation (wallet, resource, delegated_at) where (state = 'active');
create index delegation_open on delegation (wallet, resource) where (state = 'delegating');
create index delegation_reclaiming on delegation (reclaim_id) where (state = 'reclaiming');
create index delegation_to_reclaim on delegation (expires_at) where (state = 'active');

create table deposit (
  tx_id text not null,
  "position" integer not null,
  from_address text not null,
  to_address text not null,
  amount_sun bigint,
  token text,
  token_amount numeric(78,0),
  block_number bigint not null,
  block_time timestamptz not null,
  customer_id text,
  state text not null,
  reason text,
  energy bigint,
  order_id text,
  refund_id text,
  solid_at timestamptz,
  due_at timestamptz not null,
  seen_at timestamptz not null,
  left_out integer default 0 not null,
  constraint deposit_pkey primary key (tx_id, "position"),
  constraint deposit_order_once unique (order_id),
  constraint deposit_refund_once unique (refund_id),
  constraint deposit_order foreign key (order_id) references orders(id),
  constraint deposit_refund foreign key (refund_id) references attempt(id),
  constraint deposit_amount check ((amount_sun is null) = (token is not null) and (token is null) = (token_amount is null) and coalesce(amount_sun, 1::bigint) > 0),
  constraint deposit_credited_to_somebody check (state <> 'credited' or customer_id is not null and solid_at is not null),
  constraint deposit_delivered_by_an_order check ((state not in ('delivering', 'delivered')) or order_id is not null),
  constraint deposit_held_for_a_reason check ((state not in ('returning', 'refunding', 'refunded', 'held', 'ignored', 'resolved')) or reason is not null),
  constraint deposit_left_out_not_negative check (left_out >= 0),
  constraint deposit_state check (state in ('seen', 'unproven', 'credited', 'received', 'delivering', 'delivered', 'returning', 'refunding', 'refunded', 'held', 'ignored', 'resolved', 'gone'))
);
create index deposit_by_time on deposit using brin (block_time) with (pages_per_range='16', autosummarize='on');
create index deposit_held on deposit (block_time) where (state = 'held');
create index deposit_not_solid on deposit (block_number) where (solid_at is null);
create index deposit_of_customer on deposit (customer_id, block_number);
create index deposit_of_sender on deposit (from_address, block_number) where (customer_id is null);
create index deposit_open on deposit (due_at) where (state in ('received', 'delivering', 'returning', 'refunding'));
create index deposit_to_address on deposit (to_address, block_number);
create index deposit_unproven on deposit (to_address) where (state = 'unproven');

create table deposit_outflow (
  tx_id text not null,
  address text not null,
  block_number bigint not null,
  amount_sun bigint not null,
  fee_sun bigint,
  seen_at timestamptz default now() not null,
  due_at timestamptz default now() not null,
  constraint deposit_outflow_pkey primary key (tx_id),
  constraint deposit_outflow_not_negative check (amount_sun >= 0 and coalesce(fee_sun, 0::bigint) >= 0)
);
create index deposit_outflow_of_address on deposit_outflow (address, block_number);
create index deposit_outflow_without_fee on deposit_outflow (block_number) where (fee_sun is null);

create table deposit_resolution (
  tx_id text not null,
  "position" integer not null,
  way text not null,
  sent_by text,
  sent_to text,
  sent_amount numeric(78,0),
  sent_block bigint,
  customer_id text,
  made_at timestamptz not null,
  made_by text not null,
  reason text not null,
  constraint deposit_resolution_pkey primary key (tx_id, "position"),
  constraint deposit_resolution_sent_by_once unique (sent_by),
  constraint deposit_resolution_of_customer foreign key (customer_id) references customer(id),
  constraint deposit_resolution_of_deposit foreign key (tx_id, "position") references deposit(tx_id, "position"),
  constraint deposit_resolution_credited check ((way = 'credited') = (customer_id is not null)),
  constraint deposit_resolution_sent check ((way = 'sent_back') = (sent_by is not null) and (sent_by is null) = (sent_to is null) and (sent_by is null) = (sent_amount is null) and (sent_by is null) = (sent_block is null) and coalesce(sent_amount, 1::numeric) > 0::numeric),
  constraint deposit_resolution_way check (way in ('sent_back', 'credited', 'written_off'))
);

create table deposit_screening (
  tx_id text not null,
  "position" integer not null,
  block_number bigint not null,
  queued_at timestamptz not null,
  screened_at timestamptz,
  risk_level text,
  reading jsonb,
  ways jsonb,
  constraint deposit_screening_pkey primary key (tx_id, "position"),
  constraint deposit_screening_of_deposit foreign key (tx_id, "position") references deposit(tx_id, "position"),
  constraint deposit_screening_in_order check (screened_at is not null or reading is null and ways is null),
  constraint deposit_screening_level check (risk_level in ('low', 'medium', 'high')),
  constraint deposit_screening_reads check ((risk_level is null) = (reading is null))
);
create index deposit_screening_open on deposit_screening (block_number) where (ways is null);

create table duty (
  name text not null,
  process_id text not null,
  until timestamptz not null,
  constraint duty_pkey primary key (name)
);

create table event (
  customer_id text not null,
  number bigint not null,
  id text not null,
  type text not null,
  subject text not null,
  at timestamptz not null,
  test boolean not null,
  data text not null,
  constraint event_pkey primary key (customer_id, number),
  constraint event_id_once unique (id),
  constraint event_data_length check (length(data) <= 20000)
);
create index event_by_subject on event (customer_id, subject, number);
create index event_by_time on event (at);
create index event_by_type on event (customer_id, type, number);

create table event_counter (
  customer_id text not null,
  last_number bigint not null,
  constraint event_counter_pkey primary key (customer_id),
  constraint event_counter_positive check (last_number > 0)
);

create table event_note (
  id bigint generated always as identity not null,
  customer_id text not null,
  type text not null,
  subject text not null,
  at timestamptz not null,
  test boolean default false not null,
  data text not null,
  constraint event_note_pkey primary key (id)
);

create table event_publisher (
  one boolean default true not null,
  order_created_from timestamptz default '-infinity'::timestamptz not null,
  constraint event_publisher_pkey primary key (one),
  constraint event_publisher_has_one_row check (one)
);

create table fee (
  id bigint generated always as identity not null,
  name text not null,
  price_sun bigint not null,
  since timestamptz default now() not null,
  until timestamptz,
  changed_by text not null,
  constraint fee_pkey primary key (id),
  constraint fee_name check (name = 'activate_address'),
  constraint fee_positive check (price_sun > 0)
);
create unique index fee_once on fee (name) where (until is null);

create table flow_archive (
  one boolean default true not null,
  id text not null,
  begun_at timestamptz,
  begun_by text,
  state text default 'ended' not null,
  constraint flow_archive_pkey primary key (one),
  constraint flow_archive_one check (one),
  constraint flow_archive_state check (state in ('begun', 'ending', 'ended'))
);

create table flow_archive_portion (
  first_number bigint not null,
  last_number bigint not null,
  transfers bigint not null,
  copied_at timestamptz not null,
  put_at timestamptz not null,
  released_at timestamptz,
  constraint flow_archive_portion_pkey primary key (first_number),
  constraint flow_archive_portion_counts check (transfers >= 0),
  constraint flow_archive_portion_order check (first_number <= last_number),
  constraint flow_archive_portion_released_later check (released_at >= put_at)
);
create index flow_archive_portion_last on flow_archive_portion (last_number);
create index flow_archive_portion_put on flow_archive_portion (put_at) where (released_at is null);

create table flow_asset (
  number smallint not null,
  contract text not null,
  symbol text not null,
  decimals smallint not null,
  constraint flow_asset_pkey primary key (number),
  constraint flow_asset_contract_once unique (contract),
  constraint flow_asset_decimals check (decimals >= 0 and decimals <= 18),
  constraint flow_asset_number check (number >= 0 and number <= 254)
);

create table flow_block (
  number bigint not null,
  id text not null,
  "time" timestamptz not null,
  first_sequence bigint not null,
  transfers bytea,
  tx_ids bytea,
  freezes jsonb not null,
  contents_sha256 bytea,
  constraint flow_block_pkey primary key (number),
  constraint flow_block_contents check ((transfers is null) = (tx_ids is null) and (transfers is null) = (contents_sha256 is not null) and octet_length(contents_sha256) = 32) not valid,
  constraint flow_block_tx_id_each check ((octet_length(transfers) / 52) = (octet_length(tx_ids) / 32))
);
create index flow_block_by_sequence on flow_block (first_sequence);

create table flow_carried (
  generation integer not null,
  number bigint not null,
  carried bytea not null,
  constraint flow_carried_pkey primary key (generation, number),
  constraint flow_carried_of_generation foreign key (generation) references flow_generation(number)
);

create table flow_carried_from (
  generation integer not null,
  from_generation integer not null,
  until bigint not null,
  constraint flow_carried_from_pkey primary key (generation, from_generation),
  constraint flow_carried_from_of_generation foreign key (generation) references flow_generation(number),
  constraint flow_carried_from_earlier check (from_generation < generation)
);

create table flow_checkpoint (
  generation integer not null,
  number bigint not null,
  parts integer not null,
  made_at timestamptz not null,
  constraint flow_checkpoint_pkey primary key (generation, number),
  constraint flow_checkpoint_of_generation foreign key (generation) references flow_generation(number)
);

create table flow_checkpoint_part (
  generation integer not null,
  number bigint not null,
  part integer not null,
  bytes bytea not null,
  constraint flow_checkpoint_part_pkey primary key (generation, number, part)
);

create table flow_deposit (
  generation integer not null,
  address text not null,
  service text not null,
  entity text not null,
  category text not null,
  sweeps integer not null,
  constraint flow_deposit_pkey primary key (generation, address),
  constraint flow_deposit_of_generation foreign key (generation) references flow_generation(number)
);

create table flow_deposit_found (
  address text not null,
  service text not null,
  entity text not null,
  category text not null,
  sweeps integer not null,
  height bigint not null,
  constraint flow_deposit_found_pkey primary key (address)
);

create table flow_deposit_revoked (
  address text not null,
  reason text not null,
  revoked_by text not null,
  revoked_at timestamptz not null,
  constraint flow_deposit_revoked_pkey primary key (address)
);

create table flow_freeze (
  token text not null,
  address text not null,
  frozen boolean not null,
  number bigint not null,
  constraint flow_freeze_pkey primary key (address, token)
);

create table flow_generation (
  number integer generated always as identity not null,
  label_set integer not null,
  begun_at timestamptz not null,
  active_at timestamptz,
  reach integer default 0 not null,
  first_number bigint not null,
  rules smallint not null,
  constraint flow_generation_pkey primary key (number),
  constraint flow_generation_once unique (label_set, reach, rules),
  constraint flow_generation_of_set foreign key (label_set) references label_set(number)
);

create table flow_hub (
  generation integer not null,
  address text not null,
  counterparties integer not null,
  constraint flow_hub_pkey primary key (generation, address),
  constraint flow_hub_of_generation foreign key (generation) references flow_generation(number)
);

create table flow_import (
  number integer generated always as identity not null,
  source text not null,
  file text not null,
  sha256 text not null,
  first_number bigint not null,
  last_number bigint not null,
  transfers bigint not null,
  compared integer not null,
  imported_at timestamptz not null,
  imported_by text not null,
  constraint flow_import_pkey primary key (number),
  constraint flow_import_once unique (first_number),
  constraint flow_import_in_order check (first_number <= last_number),
  constraint flow_import_sha256 check (sha256 ~ '^[0-9a-f]{64}$')
);

create table flow_pair (
  address bytea not null,
  other bytea not null,
  asset smallint not null,
  received numeric(40,0) not null,
  sent numeric(40,0) not null,
  transfers bigint not null,
  first_number bigint not null,
  last_number bigint not null,
  constraint flow_pair_pkey primary key (address, other, asset),
  constraint flow_pair_in_order check (first_number <= last_number),
  constraint flow_pair_lengths check (octet_length(address) = 20 and octet_length(other) = 20),
  constraint flow_pair_not_negative check (received >= 0::numeric and sent >= 0::numeric and transfers > 0)
);

create table flow_pair_progress (
  one boolean default true not null,
  first_number bigint,
  last_number bigint,
  asked_at timestamptz not null,
  asked_by text not null,
  constraint flow_pair_progress_pkey primary key (one),
  constraint flow_pair_progress_one check (one),
  constraint flow_pair_progress_range check ((first_number is null) = (last_number is null))
);

create table flow_reach (
  number integer generated always as identity not null,
  first_number bigint not null,
  made_at timestamptz not null,
  made_by text not null,
  reason text not null,
  constraint flow_reach_pkey primary key (number)
);

create table flow_sent (
  number integer generated always as identity not null,
  generation integer not null,
  height bigint not null,
  begun_at timestamptz not null,
  read_at timestamptz,
  constraint flow_sent_pkey primary key (number),
  constraint flow_sent_of_generation foreign key (generation) references flow_generation(number)
);

create table flow_sent_part (
  number integer not null,
  part integer not null,
  bytes bytea not null,
  constraint flow_sent_part_pkey primary key (number, part),
  constraint flow_sent_part_of_reading foreign key (number) references flow_sent(number)
);

create table holding (
  address text not null,
  prior_sun bigint,
  number bigint,
  held_sun bigint,
  read_from text,
  compared boolean default true not null,
  surplus_sun bigint default 0 not null,
  due_at timestamptz not null,
  constraint holding_pkey primary key (address),
  constraint holding_read check ((number is null) = (held_sun is null) and (number is null) = (read_from is null))
);
create index holding_due on holding (due_at);
create index holding_to_compare on holding (number) where (not compared);

create table incident (
  id text not null,
  title text not null,
  what text not null,
  parts text[] not null,
  began_at timestamptz not null,
  posted_at timestamptz not null,
  closed_at timestamptz,
  outcome text,
  constraint incident_pkey primary key (id),
  constraint incident_closed_after_its_begin check (closed_at >= began_at),
  constraint incident_outcome_length check (length(outcome) <= 2000),
  constraint incident_outcome_when_closed check (outcome is null or closed_at is not null),
  constraint incident_title_length check (length(title) >= 1 and length(title) <= 120),
  constraint incident_what_length check (length(what) >= 1 and length(what) <= 2000)
);
create index incident_by_time on incident (began_at);
create index incident_open on incident (began_at) where (closed_at is null);

create table invoice (
  number bigint not null,
  customer_id text not null,
  month date not null,
  issued_at timestamptz not null,
  total_sun bigint not null,
  document text not null,
  sha256 text not null,
  kind text default 'invoice' not null,
  corrects bigint,
  correction_id text,
  constraint invoice_pkey primary key (number),
  constraint invoice_corrects_invoice foreign key (corrects) references invoice(number),
  constraint invoice_of_customer foreign key (customer_id) references customer(id),
  constraint invoice_correction_is_credit check (correction_id is null or kind = 'credit_note'),
  constraint invoice_corrects_earlier check (corrects < number),
  constraint invoice_credit_note_corrects check (kind = 'invoice' or corrects is not null),
  constraint invoice_hash_is_true check (encode(sha256(convert_to(document, 'UTF8'::name)), 'hex') = sha256),
  constraint invoice_kind check (kind in ('invoice', 'credit_note')),
  constraint invoice_total_sign check (
case kind
    when 'invoice' then total_sun > 0
    else total_sun < 0
end)
);
create unique index invoice_of_correction on invoice (correction_id);
create index invoice_of_customer_by_month on invoice (customer_id, month);
create unique index invoice_once on invoice (customer_id, month) where ((kind = 'invoice') and (corrects is null));
create unique index invoice_replaced_once on invoice (corrects) where (kind = 'invoice');

create table invoice_progress (
  one boolean default true not null,
  month date not null,
  customer_id text default '' not null,
  constraint invoice_progress_pkey primary key (one),
  constraint invoice_progress_has_one_row check (one)
);

create table issuer_word (
  address text not null,
  token text not null,
  asked_at timestamptz not null,
  said text not null,
  nodes smallint not null,
  error text,
  constraint issuer_word_pkey primary key (address, token, asked_at),
  constraint issuer_word_error check ((error is not null) = (said = 'not_asked')),
  constraint issuer_word_said check (said in ('frozen', 'not_frozen', 'no_list', 'not_asked'))
);
create index issuer_word_asked on issuer_word (token, asked_at) where (said <> 'not_asked');
create index issuer_word_not_asked on issuer_word (asked_at) where (said = 'not_asked');

create table journal (
  number bigint not null,
  first_entry bigint not null,
  last_entry bigint not null,
  entries bigint not null,
  actions bigint not null,
  sealed_at timestamptz not null,
  sha256 text not null,
  constraint journal_pkey primary key (number),
  constraint journal_range check (number > 0 and first_entry <= last_entry and entries >= 0 and entries <= (last_entry - first_entry + 1))
);
create index journal_last_entry on journal (last_entry);
create index journal_sealed_at on journal (sealed_at);

create table journal_mark (
  one boolean default true not null,
  last_entry bigint not null,
  writers text[] not null,
  made_at timestamptz not null,
  constraint journal_mark_pkey primary key (one),
  constraint journal_mark_entry check (last_entry >= 0),
  constraint journal_mark_has_one_row check (one)
);

create table label_set (
  number integer not null,
  sha256 text not null,
  note text not null,
  published_at timestamptz not null,
  published_by text not null,
  constraint label_set_pkey primary key (number),
  constraint label_set_number_positive check (number >= 0)
);

create table label_set_version (
  label_set integer not null,
  version_id bigint not null,
  constraint label_set_version_pkey primary key (label_set, version_id),
  constraint label_set_version_of_set foreign key (label_set) references label_set(number),
  constraint label_set_version_of_version foreign key (version_id) references list_version(id)
);

create table list (
  code text not null,
  title text not null,
  url text,
  licence text not null,
  refresh_hours integer,
  kind text default 'curated' not null,
  read_at timestamptz,
  failing_since timestamptz,
  error text,
  reader text not null,
  columns jsonb,
  category text,
  made_by text,
  constraint list_pkey primary key (code),
  constraint list_failing_says_why check ((failing_since is null) = (error is null)),
  constraint list_kind check (kind in ('authority', 'curated')),
  constraint list_refresh_positive check (refresh_hours > 0)
);

create table list_entry (
  version_id bigint not null,
  n integer not null,
  address text not null,
  category text not null,
  entity text not null,
  kind text not null,
  confidence smallint not null,
  reference text not null,
  valid_from timestamptz,
  valid_to timestamptz,
  constraint list_entry_pkey primary key (version_id, n),
  constraint list_entry_of_version foreign key (version_id) references list_version(id),
  constraint list_entry_address_length check (char_length(address) = 34),
  constraint list_entry_confidence check (confidence >= 0 and confidence <= 100),
  constraint list_entry_kind check (kind in ('authority', 'ledger', 'exchange', 'curated', 'heuristic', 'tenant'))
);
create index list_entry_of_address on list_entry (address);

create table list_removal (
  entry_version bigint not null,
  n integer not null,
  version_id bigint not null,
  constraint list_removal_pkey primary key (entry_version, n),
  constraint list_removal_of_entry foreign key (entry_version, n) references list_entry(version_id, n),
  constraint list_removal_of_version foreign key (version_id) references list_version(id)
);
create index list_removal_by_version on list_removal (version_id);

create table list_version (
  id bigint generated always as identity not null,
  list text not null,
  origin text not null,
  sha256 text not null,
  entries integer not null,
  passed_over integer not null,
  loaded_at timestamptz not null,
  loaded_by text not null,
  constraint list_version_pkey primary key (id),
  constraint list_version_of_list foreign key (list) references list(code),
  constraint list_version_counts check (entries >= 0 and passed_over >= 0),
  constraint list_version_sha256_form check (sha256 ~ '^[0-9a-f]{64}$')
);

create table loosened_setting (
  name text not null,
  seen_at timestamptz not null,
  constraint loosened_setting_pkey primary key (name)
);

create table metric (
  span text not null,
  at timestamptz not null,
  metric text not null,
  counts integer[] not null,
  constraint metric_pkey primary key (span, at, metric),
  constraint metric_not_negative check (0 <= all (counts)),
  constraint metric_span check (span in ('minute', 'hour', 'day'))
);

create table metric_progress (
  one boolean default true not null,
  begun_at timestamptz not null,
  until timestamptz not null,
  constraint metric_progress_pkey primary key (one),
  constraint metric_progress_after_its_begin check (until >= begun_at),
  constraint metric_progress_has_one_row check (one)
);

create table migration (
  number integer not null,
  name text not null,
  sha256 text not null,
  applied_at timestamptz default clock_timestamp() not null,
  needs integer,
  constraint migration_pk primary key (number)
);

create table node_dispute (
  dissenting text[] not null,
  against text[] not null,
  number bigint not null,
  what text not null,
  times bigint not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  constraint node_dispute_pkey primary key (dissenting, against),
  constraint node_dispute_of_somebody check (cardinality(dissenting) > 0)
);

create table node_hiding (
  node text not null,
  number bigint not null,
  tx_id text not null,
  seen_at timestamptz not null,
  constraint node_hiding_pkey primary key (node)
);

create table notice (
  webhook_id text not null,
  number bigint not null,
  event_id text not null,
  type text not null,
  subject text not null,
  state text default 'due' not null,
  calls integer default 0 not null,
  due_at timestamptz not null,
  constraint notice_pkey primary key (webhook_id, number),
  constraint notice_of_webhook foreign key (webhook_id) references webhook(id),
  constraint notice_state check (state in ('due', 'delivered', 'dead', 'passed'))
);
create index notice_by_time on notice (due_at);
create index notice_dead on notice (webhook_id, number) where (state = 'dead');
create index notice_due on notice (webhook_id, number) where (state = 'due');

create table offer (
  one boolean default true not null,
  quote_seconds_max integer default 300 not null,
  forecast_shown boolean default true not null,
  constraint offer_pkey primary key (one),
  constraint offer_has_one_row check (one),
  constraint offer_quote_seconds check (quote_seconds_max = 0 or quote_seconds_max >= 5 and quote_seconds_max <= 300)
);

create table operation_proposal (
  id text not null,
  action text not null,
  body jsonb not null,
  reason text,
  proposed_at timestamptz not null,
  proposed_by text not null,
  proposed_role text not null,
  ends_at timestamptz not null,
  approved_at timestamptz,
  approved_by text,
  approved_role text,
  used_at timestamptz,
  constraint operation_proposal_pkey primary key (id),
  constraint operation_proposal_approval_whole check (num_nulls(approved_at, approved_by, approved_role) in (0, 3)),
  constraint operation_proposal_approved_first check (used_at is null or approved_at is not null),
  constraint operation_proposal_by_another check (lower(btrim(approved_by)) <> lower(btrim(proposed_by)))
);
create index operation_proposal_by_time on operation_proposal (proposed_at);

create table operator_action (
  number bigint not null,
  made_at timestamptz not null,
  made_by text not null,
  reason text,
  action text not null,
  subject text not null,
  before jsonb,
  after jsonb,
  sha256 text not null,
  made_role text,
  made_from text,
  constraint operator_action_pkey primary key (number),
  constraint operator_action_made_by_length check (char_length(made_by) >= 1 and char_length(made_by) <= 100),
  constraint operator_action_reason_length check (char_length(reason) >= 1 and char_length(reason) <= 500)
);
create index operator_action_of_subject on operator_action (subject, number);

create table orders (
  id text not null,
  customer_id text not null,
  external_id text,
  key_id text,
  service text not null,
  address text not null,
  energy bigint default 0 not null,
  bandwidth bigint default 0 not null,
  activate boolean not null,
  activation_id text,
  state text default 'new' not null,
  to_delegate boolean not null,
  amount_sun bigint not null,
  fee_sun bigint default 0 not null,
  tx_id text,
  tries integer default 0 not null,
  due_at timestamptz not null,
  created_at timestamptz not null,
  ended_at timestamptz,
  quote_id text,
  delayed_at timestamptz,
  ending_at timestamptz,
  solid_at timestamptz,
  constraint orders_pkey primary key (id),
  constraint orders_external_id_once unique (customer_id, external_id),
  constraint orders_activation foreign key (activation_id) references activation(id),
  constraint orders_quote foreign key (quote_id) references quote(id),
  constraint orders_amounts_fit_service check ((energy > 0) = (service in ('energy', 'resource_bundle')) and (bandwidth > 0) = (service in ('bandwidth', 'resource_bundle'))),
  constraint orders_prices check (fee_sun >= 0 and fee_sun <= amount_sun),
  constraint orders_service check (service in ('energy', 'bandwidth', 'resource_bundle', 'activate_address')),
  constraint orders_state check (state in ('new', 'pending', 'success', 'failed')),
  constraint orders_success_has_hash check (state <> 'success' or tx_id is not null)
);
create index orders_not_delayed on orders (created_at) where ((state in ('new', 'pending')) and (delayed_at is null));
create index orders_not_ended on orders (created_at) where ((state = 'success') and (ended_at is null) and ((energy + bandwidth) > 0));
create index orders_not_ending on orders (customer_id, created_at) where ((state = 'success') and (ended_at is null) and (ending_at is null) and ((energy + bandwidth) > 0));
create index orders_not_solid on orders (id) where ((state = 'success') and (solid_at is null));
create index orders_of_activation on orders (activation_id) where (activation_id is not null);
create index orders_of_customer on orders (customer_id, id desc);
create index orders_of_customer_address on orders (customer_id, address, id desc);
create index orders_open on orders (customer_id, id) where (state in ('new', 'pending'));
create unique index orders_quote_once on orders (quote_id) where (quote_id is not null);
create index orders_to_delegate on orders (due_at, id) where to_delegate;

create table pairing (
  id text not null,
  code_hash text not null,
  poll_hash text not null,
  name text not null,
  ip text not null,
  made_at timestamptz not null,
  ends_at timestamptz not null,
  sealed_key text,
  taken_at timestamptz,
  refused_at timestamptz,
  network text not null,
  scopes text[],
  approved_at timestamptz,
  customer_id text,
  key_id text,
  constraint pairing_pkey primary key (id),
  constraint pairing_poll_once unique (poll_hash),
  constraint pairing_key foreign key (key_id) references api_key(id),
  constraint pairing_of_customer foreign key (customer_id) references customer(id),
  constraint pairing_approved_whole check (num_nulls(approved_at, customer_id, key_id) in (0, 3)),
  constraint pairing_key_until_taken check (
case
    when approved_at is null then sealed_key is null and taken_at is null
    else (sealed_key is null) = (taken_at is not null)
end),
  constraint pairing_name_length check (char_length(name) >= 1 and char_length(name) <= 100),
  constraint pairing_one_answer check (approved_at is null or refused_at is null)
);
create index pairing_by_end on pairing (ends_at);
create unique index pairing_code_once on pairing (code_hash);
create index pairing_of_network on pairing (network, ends_at);

create table passkey (
  id text not null,
  user_id text not null,
  name text not null,
  public_key bytea not null,
  counter bigint not null,
  transports text[] not null,
  made_at timestamptz not null,
  used_at timestamptz,
  off_at timestamptz,
  constraint passkey_pkey primary key (id),
  constraint passkey_user foreign key (user_id) references service_user(id),
  constraint passkey_name_length check (char_length(name) >= 1 and char_length(name) <= 100)
);
create index passkey_of_user on passkey (user_id);

create table plan (
  id integer generated always as identity not null,
  key text not null,
  name text not null,
  activation_fee_sun bigint not null,
  initial_price_sun bigint not null,
  price_sun bigint not null,
  included integer not null,
  transactions_limit integer not null,
  duration_days integer not null,
  energy_per_transaction integer default 65000 not null,
  since timestamptz default now() not null,
  until timestamptz,
  changed_by text not null,
  idle_hours integer default 2 not null,
  constraint plan_pkey primary key (id),
  constraint plan_energy check (energy_per_transaction > 0),
  constraint plan_idle_hours check (idle_hours >= 0),
  constraint plan_limits check (least(included, transactions_limit, duration_days) >= 0),
  constraint plan_prices check (least(activation_fee_sun, initial_price_sun, price_sun) >= 0)
);
create unique index plan_once on plan (key) where (until is null);

create table policy (
  version integer not null,
  body jsonb not null,
  published_at timestamptz not null,
  published_by text not null,
  constraint policy_pkey primary key (version),
  constraint policy_after_the_shipped check (version > 1)
);

create table pool (
  resource text not null,
  room bigint default 0 not null,
  reserved bigint default 0 not null,
  total_limit bigint default 0 not null,
  total_weight bigint default 0 not null,
  free_at_sale bigint default 0 not null,
  constraint pool_pkey primary key (resource),
  constraint pool_not_oversold check (free_at_sale >= 0),
  constraint pool_reserved_not_negative check (reserved >= 0),
  constraint pool_resource check (resource in ('energy', 'bandwidth'))
);

create table pool_wallet (
  address text not null,
  resource text not null,
  room_sun bigint not null,
  block_number bigint not null,
  block_time timestamptz not null,
  carries bigint not null,
  recovering bigint default 0 not null,
  recovers_seconds bigint default 86400 not null,
  staked_sun bigint,
  votes bigint,
  constraint pool_wallet_pkey primary key (address, resource),
  constraint pool_wallet_resource foreign key (resource) references pool(resource),
  constraint pool_wallet_recovers check (recovering >= 0 and recovers_seconds > 0),
  constraint pool_wallet_stake check (staked_sun >= 0 and votes >= 0)
);

create table price (
  id bigint generated always as identity not null,
  resource text not null,
  duration_hours integer default 1 not null,
  min_amount bigint not null,
  max_amount bigint not null,
  price_sun bigint not null,
  since timestamptz default now() not null,
  until timestamptz,
  changed_by text not null,
  base_sun bigint,
  constraint price_pkey primary key (id),
  constraint price_bandwidth_once exclude using gist (int8range(min_amount, max_amount, '[]') with &&) where (resource = 'bandwidth' and until is null),
  constraint price_energy_once exclude using gist (int8range(min_amount, max_amount, '[]') with &&) where (resource = 'energy' and until is null),
  constraint price_duration check (duration_hours = 1),
  constraint price_positive check (price_sun > 0),
  constraint price_raised check (base_sun > 0 and base_sun < price_sun),
  constraint price_range check (min_amount > 0 and max_amount >= min_amount),
  constraint price_resource check (resource in ('energy', 'bandwidth'))
);

create table price_rule (
  resource text not null,
  margin_percent integer,
  steps jsonb not null,
  floor_sun bigint,
  refused_sun bigint,
  floor_at timestamptz,
  raise_percent integer default 0 not null,
  full_percent integer default 0 not null,
  raised_at timestamptz not null,
  looked_at timestamptz not null,
  set_at timestamptz not null,
  set_by text not null,
  constraint price_rule_pkey primary key (resource),
  constraint price_rule_floor check (floor_sun > 0 and refused_sun > 0),
  constraint price_rule_full check (full_percent >= 0 and full_percent <= 100),
  constraint price_rule_margin check (margin_percent >= 0 and margin_percent <= 1000),
  constraint price_rule_raise check (raise_percent >= 0 and raise_percent <= 1000),
  constraint price_rule_resource check (resource in ('energy', 'bandwidth'))
);

create table process (
  id text not null,
  role text not null,
  host text not null,
  version text not null,
  schema integer not null,
  started_at timestamptz not null,
  seen_at timestamptz not null,
  beat bigint not null,
  standbys integer not null,
  clock_offset_ms bigint not null,
  unreplicated_commits bigint not null,
  report jsonb default '{}'::jsonb not null,
  unwritten_since timestamptz,
  constraint process_pkey primary key (id),
  constraint process_counts check (least(beat, standbys::bigint, unreplicated_commits) >= 0)
);

create table quote (
  id text not null,
  customer_id text not null,
  service text not null,
  address text not null,
  energy bigint not null,
  bandwidth bigint not null,
  activate boolean not null,
  amount_sun bigint not null,
  fee_sun bigint not null,
  fee_limit_sun bigint,
  burning_sun bigint,
  made_at timestamptz not null,
  expires_at timestamptz not null,
  constraint quote_pkey primary key (id),
  constraint quote_of_customer foreign key (customer_id) references customer(id),
  constraint quote_amounts check (least(energy, bandwidth) >= 0),
  constraint quote_price check (fee_sun >= 0 and amount_sun >= fee_sun),
  constraint quote_time check (expires_at > made_at)
);
create index quote_by_end on quote (expires_at);
create index quote_of_customer on quote (customer_id, expires_at);

create table recovery_code (
  code_hash text not null,
  user_id text not null,
  used_at timestamptz,
  constraint recovery_code_pkey primary key (user_id, code_hash),
  constraint recovery_code_user foreign key (user_id) references service_user(id)
);

create table refusal (
  id bigint generated always as identity not null,
  customer_id text not null,
  key_id text not null,
  at timestamptz not null,
  path text not null,
  code integer not null,
  key text not null,
  request_id text not null,
  ip text not null,
  ms integer not null,
  body text,
  hashed_bytes integer,
  body_sha256 text,
  right_for text,
  constraint refusal_pkey primary key (id),
  constraint refusal_body_for_keys check (body is null or starts_with(path, '/v1/')),
  constraint refusal_body_length check (length(body) <= 1024),
  constraint refusal_hint_whole check ((hashed_bytes is null) = (body_sha256 is null)),
  constraint refusal_right_for check (right_for in ('empty', '{}', 'no_final_newline', 'reprinted'))
);
create index refusal_by_time on refusal (at);
create index refusal_of_customer on refusal (customer_id, at desc, id desc);
create index refusal_of_customer_by_code on refusal (customer_id, code, at desc, id desc);

create table refusal_day (
  customer_id text not null,
  day date not null,
  kept integer not null,
  left_out integer not null,
  constraint refusal_day_pkey primary key (customer_id, day)
);

create table reward_claim (
  id text not null,
  wallet text not null,
  expected_sun bigint not null,
  state text default 'claiming' not null,
  attempt_id text not null,
  reward_sun bigint,
  made_at timestamptz not null,
  ended_at timestamptz,
  found boolean default false not null,
  constraint reward_claim_pkey primary key (id),
  constraint reward_claim_of_attempt foreign key (attempt_id) references attempt(id),
  constraint reward_claim_end check ((state = 'claiming') = (ended_at is null) and (state = 'claimed') = (reward_sun is not null) and coalesce(reward_sun, 1::bigint) > 0),
  constraint reward_claim_state check (state in ('claiming', 'claimed', 'failed'))
);
create index reward_claim_attempt on reward_claim (attempt_id);
create index reward_claim_of_wallet on reward_claim (wallet, made_at);
create unique index reward_claim_one_claiming on reward_claim (wallet) where ((state = 'claiming') and (not found));

create table sealed_sum (
  account text not null,
  posted_sun bigint not null,
  held_sun bigint not null,
  constraint sealed_sum_pkey primary key (account)
);

create table service (
  name text not null,
  on_sale boolean not null,
  changed_by text not null,
  constraint service_pkey primary key (name)
);

create table service_user (
  id text not null,
  customer_id text,
  name text not null,
  role text not null,
  sign_in_name text,
  invited_at timestamptz not null,
  invited_by text not null,
  joined_at timestamptz,
  ended_at timestamptz,
  constraint service_user_pkey primary key (id),
  constraint service_user_sign_in_name_once unique (sign_in_name),
  constraint service_user_of_customer foreign key (customer_id) references customer(id),
  constraint service_user_name_length check (char_length(name) >= 1 and char_length(name) <= 100),
  constraint service_user_role_known check (role = any (
case
    when customer_id is null then array['auditor', 'operator', 'admin']
    else array['owner', 'developer', 'finance', 'reader']
end)),
  constraint service_user_sign_in_name_form check (sign_in_name ~ '^[a-z0-9._@+-]{3,64}$')
);
create index service_user_of_customer on service_user (customer_id, id);

create table sign_in (
  id text not null,
  at timestamptz not null,
  face text not null,
  way text not null,
  outcome text not null,
  name_hash text,
  user_id text,
  session_id text,
  network text not null,
  ip text not null,
  browser text not null,
  count_hash text,
  constraint sign_in_pkey primary key (id),
  constraint sign_in_face_known check (face in ('portal', 'console')),
  constraint sign_in_outcome_known check (outcome in ('trying', 'done', 'failed', 'too_soon')),
  constraint sign_in_way_known check (way in ('link', 'join', 'passkey', 'password', 'recovery', 'step_up', 'end'))
);
create index sign_in_by_age on sign_in (at);
create index sign_in_known on sign_in (name_hash, network) where ((outcome = 'done') and (name_hash is not null));
create index sign_in_of_count on sign_in (count_hash, at) where (count_hash is not null);
create index sign_in_of_name on sign_in (name_hash, at) where (name_hash is not null);
create index sign_in_of_network on sign_in (network, at) where (outcome <> 'done');

create table sign_up (
  id text not null,
  email text not null,
  language text not null,
  network text not null,
  made_at timestamptz not null,
  ends_at timestamptz not null,
  state text default 'asked' not null,
  token_hash text not null,
  sealed_token text,
  due_at timestamptz not null,
  tries integer default 0 not null,
  last_fault text,
  sent_at timestamptz,
  name text,
  customer_id text,
  user_id text,
  constraint sign_up_pkey primary key (id),
  constraint sign_up_of_customer foreign key (customer_id) references customer(id),
  constraint sign_up_of_user foreign key (user_id) references service_user(id),
  constraint sign_up_email_length check (char_length(email) >= 3 and char_length(email) <= 254),
  constraint sign_up_language_known check (language in ('en', 'ru', 'zh')),
  constraint sign_up_name_length check (char_length(name) >= 1 and char_length(name) <= 200),
  constraint sign_up_named check ((state in ('confirmed', 'opened')) = (name is not null)),
  constraint sign_up_opened_whole check ((state = 'opened') = (customer_id is not null) and (user_id is null or state = 'opened')),
  constraint sign_up_state_known check (state in ('asked', 'sent', 'refused', 'confirmed', 'opened')),
  constraint sign_up_token_until_sent check (state = 'asked' or sealed_token is null)
);
create unique index sign_up_of_customer_once on sign_up (customer_id);
create index sign_up_of_email on sign_up (lower(email), id);
create index sign_up_of_user_id on sign_up (user_id);
create index sign_up_to_open on sign_up (id) where (state = 'confirmed');
create index sign_up_to_prune on sign_up (ends_at) where (state <> 'opened');
create index sign_up_to_send on sign_up (due_at) where ((state = 'asked') and (sealed_token is not null));
create unique index sign_up_token_once on sign_up (token_hash);

create table signing (
  one boolean default true not null,
  stopped boolean default false not null,
  changed_by text default 'shipped' not null,
  constraint signing_pkey primary key (one),
  constraint signing_has_one_row check (one)
);

create table signing_amount (
  number bigint generated always as identity not null,
  attempt text not null,
  type text not null,
  wallet text not null,
  sun bigint not null,
  at timestamptz not null,
  constraint signing_amount_pkey primary key (number),
  constraint signing_amount_adds check (sun >= 0)
);
create index signing_amount_at on signing_amount (at);

create table signing_key (
  id text not null,
  public_key text not null,
  sealed_private_key text,
  made_at timestamptz not null,
  retired_at timestamptz,
  mark text,
  constraint signing_key_pkey primary key (id),
  constraint signing_key_private_while_it_signs check ((sealed_private_key is null) = (retired_at is not null))
);
create unique index signing_key_one_signs on signing_key ((true)) where (retired_at is null);

create table status_page (
  one boolean default true not null,
  pool_shown boolean default true not null,
  prices_shown boolean default true not null,
  constraint status_page_pkey primary key (one),
  constraint status_page_has_one_row check (one)
);

create table subscription (
  id text not null,
  customer_id text not null,
  external_id text,
  key_id text,
  plan_id integer not null,
  address text not null,
  duration integer not null,
  transactions_limit integer not null,
  activate_address boolean not null,
  state text default 'new' not null,
  reason text,
  transactions_used integer default 0 not null,
  energy_used bigint default 0 not null,
  total_sun bigint not null,
  supplies integer default 0 not null,
  order_id text,
  look_at timestamptz not null,
  created_at timestamptz not null,
  started_at timestamptz,
  renewed_at timestamptz,
  stopped_at timestamptz,
  expire_at timestamptz,
  withdrawn boolean default false not null,
  holds_made integer default 0 not null,
  holds_ended integer default 0 not null,
  resting text,
  rested_at timestamptz,
  idle_since timestamptz not null,
  own_energy bigint default 0 not null,
  by_orders_sun bigint default 0 not null,
  constraint subscription_pkey primary key (id),
  constraint subscription_external_id_once unique (customer_id, external_id),
  constraint subscription_order foreign key (order_id) references orders(id),
  constraint subscription_plan foreign key (plan_id) references plan(id),
  constraint subscription_asked check (least(duration, transactions_limit) >= 0),
  constraint subscription_holds check (holds_ended >= 0 and holds_ended <= holds_made),
  constraint subscription_resting check (resting is null or (resting in ('idle', 'daily_cap')) and rested_at is not null),
  constraint subscription_state check (state in ('new', 'pending', 'active', 'stopped', 'expired', 'error')),
  constraint subscription_withdrawn check (not withdrawn or holds_made = holds_ended and (resting is not null or (state in ('stopped', 'expired', 'error'))))
);
create index subscription_ended on subscription (address) where ((state in ('stopped', 'expired')) and (not withdrawn));
create index subscription_of_customer on subscription (customer_id, id desc);
create unique index subscription_one_per_address on subscription (address) where (state in ('new', 'pending', 'active'));
create index subscription_running on subscription (customer_id) where (state in ('new', 'pending', 'active'));
create index subscription_to_look_at on subscription (look_at) where (state in ('new', 'pending', 'active'));
create index subscription_to_withdraw on subscription (id) where (((state in ('stopped', 'expired', 'error')) or (resting is not null)) and (not withdrawn));

create table subscription_supply (
  subscription_id text not null,
  order_id text not null,
  constraint subscription_supply_pkey primary key (subscription_id, order_id),
  constraint subscription_supply_order foreign key (order_id) references orders(id),
  constraint subscription_supply_subscription foreign key (subscription_id) references subscription(id)
);
create index subscription_supply_of_order on subscription_supply (order_id);

create table subscription_use (
  subscription_id text not null,
  tx_id text not null,
  energy bigint not null,
  transactions integer not null,
  charged_sun bigint not null,
  used_at timestamptz not null,
  block_number bigint not null,
  solid boolean default false not null,
  own_energy bigint default 0 not null,
  by_orders_sun bigint default 0 not null,
  constraint subscription_use_pkey primary key (subscription_id, tx_id),
  constraint subscription_use_subscription foreign key (subscription_id) references subscription(id)
);
create index subscription_use_by_block on subscription_use (subscription_id, block_number desc, tx_id desc);
create index subscription_use_by_time on subscription_use using brin (used_at) with (pages_per_range='16', autosummarize='on');
create index subscription_use_not_solid on subscription_use (block_number) where (not solid);

create table summary (
  customer_id text not null,
  bucket text not null,
  at timestamptz not null,
  orders integer not null,
  succeeded integer not null,
  failed integer not null,
  energy bigint not null,
  bandwidth bigint not null,
  spent_sun bigint not null,
  deposited_sun bigint not null,
  p50_ms integer,
  p95_ms integer,
  balance_sun bigint not null,
  spendable_sun bigint not null,
  constraint summary_pkey primary key (customer_id, bucket, at),
  constraint summary_bucket check (bucket in ('hour', 'day'))
);
create index summary_by_time on summary (bucket, at);

create table summary_progress (
  bucket text not null,
  until timestamptz not null,
  entry bigint default 0 not null,
  constraint summary_progress_pkey primary key (bucket),
  constraint summary_progress_bucket check (bucket in ('hour', 'day'))
);

create table sums_seal (
  one boolean default true not null,
  number bigint not null,
  last_entry bigint not null,
  sha256 text not null,
  sums_sha256 text not null,
  took_ms bigint not null,
  made_at timestamptz not null,
  constraint sums_seal_pkey primary key (one),
  constraint sums_seal_has_one_row check (one)
);

create table transfer (
  id text not null,
  kind text not null,
  hold_id text,
  debit text not null,
  credit text not null,
  amount_sun bigint not null,
  made_at timestamptz not null,
  number bigint generated always as identity not null,
  constraint transfer_pkey primary key (id),
  constraint transfer_hold_resolved_once unique (hold_id),
  constraint transfer_hold_exists foreign key (hold_id) references transfer(id),
  constraint transfer_amount_positive check (amount_sun > 0),
  constraint transfer_between_two_accounts check (debit <> credit),
  constraint transfer_kind check (kind in ('move', 'hold', 'capture', 'release')),
  constraint transfer_resolves_a_hold check ((kind in ('capture', 'release')) = (hold_id is not null))
);
create index transfer_by_number on transfer using brin (number) with (pages_per_range='16', autosummarize='on');
create index transfer_of_credit on transfer (credit, made_at);
create index transfer_of_debit on transfer (debit, made_at);

create table user_link (
  token_hash text not null,
  user_id text not null,
  purpose text not null,
  made_at timestamptz not null,
  ends_at timestamptz not null,
  used_at timestamptz,
  made_by_key text,
  constraint user_link_pkey primary key (token_hash),
  constraint user_link_made_by_key foreign key (made_by_key) references api_key(id),
  constraint user_link_user foreign key (user_id) references service_user(id),
  constraint user_link_purpose_known check (purpose in ('join', 'sign_in')),
  constraint user_link_token_hash_form check (token_hash ~ '^[0-9a-f]{64}$')
);
create index user_link_of_user on user_link (user_id);

create table user_password (
  user_id text not null,
  hash text not null,
  sealed_totp text not null,
  totp_step bigint not null,
  changed_at timestamptz not null,
  constraint user_password_pkey primary key (user_id),
  constraint user_password_user foreign key (user_id) references service_user(id)
);

create table user_session (
  id text not null,
  token_hash text not null,
  user_id text not null,
  made_at timestamptz not null,
  used_at timestamptz not null,
  ends_at timestamptz not null,
  stepped_up_until timestamptz,
  ip text not null,
  browser text not null,
  ended_at timestamptz,
  mark text,
  step_up_mark text,
  constraint user_session_pkey primary key (id),
  constraint user_session_token_once unique (token_hash),
  constraint user_session_user foreign key (user_id) references service_user(id),
  constraint user_session_token_hash_form check (token_hash ~ '^[0-9a-f]{64}$')
);
create index user_session_of_user on user_session (user_id, id);

create table vote (
  id text not null,
  wallet text not null,
  votes jsonb not null,
  power bigint not null,
  period_ends_at timestamptz not null,
  state text default 'casting' not null,
  attempt_id text not null,
  made_at timestamptz not null,
  ended_at timestamptz,
  found boolean default false not null,
  constraint vote_pkey primary key (id),
  constraint vote_of_attempt foreign key (attempt_id) references attempt(id),
  constraint vote_end check ((state = 'casting') = (ended_at is null)),
  constraint vote_power check (power > 0),
  constraint vote_state check (state in ('casting', 'cast', 'failed'))
);
create index vote_attempt on vote (attempt_id);
create index vote_of_wallet on vote (wallet, made_at);
create unique index vote_once_a_period on vote (wallet, period_ends_at) where ((state <> 'failed') and (not found));
create unique index vote_one_casting on vote (wallet) where ((state = 'casting') and (not found));

create table vote_plan (
  witness text not null,
  weight integer not null,
  set_at timestamptz not null,
  set_by text not null,
  constraint vote_plan_pkey primary key (witness),
  constraint vote_plan_weight check (weight >= 1 and weight <= 1000000)
);

create table wallet_check (
  address text not null,
  checked_at timestamptz not null,
  complaints text[] not null,
  stopped boolean not null,
  stopped_here boolean not null,
  constraint wallet_check_pkey primary key (address)
);

create table webhook (
  id text not null,
  customer_id text not null,
  url text not null,
  description text,
  types text[],
  scopes text[] not null,
  state text default 'on' not null,
  reason text,
  at_once integer default 8 not null,
  per_second integer,
  "position" bigint not null,
  made_at timestamptz not null,
  failing_since timestamptz,
  failed_in_a_row integer default 0 not null,
  slow_until timestamptz,
  paused_until timestamptz,
  called_at timestamptz,
  leased_until timestamptz,
  leased_by text,
  made_by_key text,
  constraint webhook_pkey primary key (id),
  constraint webhook_made_by_key foreign key (made_by_key) references api_key(id),
  constraint webhook_at_once_range check (at_once >= 1 and at_once <= 16),
  constraint webhook_description_length check (length(description) <= 200),
  constraint webhook_disabled_has_reason check ((state = 'disabled') = (reason is not null)),
  constraint webhook_per_second_range check (per_second >= 1 and per_second <= 1000),
  constraint webhook_state check (state in ('on', 'off', 'disabled', 'removed')),
  constraint webhook_url_length check (length(url) >= 1 and length(url) <= 512)
);
create index webhook_of_customer on webhook (customer_id, id);
create index webhook_on on webhook (customer_id) where (state = 'on');

create table webhook_call (
  webhook_id text not null,
  number bigint not null,
  at timestamptz not null,
  ms integer not null,
  status integer,
  error text,
  body text,
  constraint webhook_call_pkey primary key (webhook_id, number, at),
  constraint webhook_call_body_length check (length(body) <= 1024)
);
create index webhook_call_by_time on webhook_call (at);

create table webhook_network (
  customer_id text not null,
  network text not null,
  made_at timestamptz not null,
  constraint webhook_network_pkey primary key (customer_id, network)
);

create table webhook_secret (
  webhook_id text not null,
  number integer not null,
  sealed_secret text not null,
  made_at timestamptz not null,
  until timestamptz,
  constraint webhook_secret_pkey primary key (webhook_id, number),
  constraint webhook_secret_of_webhook foreign key (webhook_id) references webhook(id)
);

CREATE OR REPLACE FUNCTION add_to_account_sums()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
  wrong text;
begin
  select made.id into wrong from made where made.hold_id is not null and not exists (
    select 1 from transfer as hold
    where hold.id = made.hold_id and hold.kind = 'hold' and hold.debit = made.debit
      and hold.credit = made.credit and hold.amount_sun >= made.amount_sun
      and (made.kind = 'capture' or hold.amount_sun = made.amount_sun)) limit 1;
  if wrong is not null then
    raise exception '% does not resolve a hold as it was made', wrong
      using errcode = 'check_violation', constraint = 'transfer_resolves_as_held';
  end if;
  update account set posted_sun = account.posted_sun + sums.posted,
    held_sun = account.held_sun + sums.held
  from (
    select side.id, sum(side.posted)::bigint as posted, sum(side.held)::bigint as held from (
      select debit as id,
        case when kind in ('move', 'capture') then -amount_sun else 0 end as posted,
        case kind when 'hold' then amount_sun when 'move' then 0 else -(
          select hold.amount_sun from transfer as hold where hold.id = made.hold_id) end as held
      from made
      union all
      select credit, amount_sun, 0 from made where kind in ('move', 'capture')
    ) as side group by side.id) as sums
  where account.id = sums.id and not account.may_go_negative;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION api_key_spent_on(asked_id text, asked_day date)
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$
  select case when key.spending_counted_from <= asked_day
      and coalesce(from_key.spending_counted_from, asked_day) <= asked_day
    then coalesce((select spent_sun from api_key_spending
      where key_id = from_key.id and day = asked_day), 0) end
  from api_key as key join api_key as from_key on from_key.id = coalesce(key.spends_from, key.id)
  where key.id = asked_id
$function$;

CREATE OR REPLACE FUNCTION chain_customer_action()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  previous customer_action;
begin
  perform pg_advisory_xact_lock(720461509, hashtext(new.customer_id));
  select * into previous from customer_action where customer_id = new.customer_id
    order by number desc limit 1;
  new.number := coalesce(previous.number, 0) + 1;
  new.sha256 := customer_action_sum(coalesce(previous.sha256, ''), new);
  return new;
end $function$;

CREATE OR REPLACE FUNCTION chain_operator_action()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  previous operator_action;
begin
  perform pg_advisory_xact_lock(7204615093);
  select * into previous from operator_action order by number desc limit 1;
  new.number := coalesce(previous.number, 0) + 1;
  new.made_role := session_user;
  new.made_from := host(inet_client_addr());
  new.sha256 := operator_action_sum(coalesce(previous.sha256, ''), new);
  return new;
end $function$;

CREATE OR REPLACE FUNCTION customer_action_sum(previous text, of customer_action)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select encode(sha256(convert_to(previous || jsonb_build_array(of.customer_id, of.number,
    extract(epoch from of.made_at), of.made_by, of.action, of.subject, of.before, of.after,
    of.ip)::text, 'UTF8')), 'hex')
$function$;

CREATE OR REPLACE FUNCTION entry_text(of transfer)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select concat_ws(' ', of.number, of.kind, of.amount_sun, encode(timestamptz_send(of.made_at), 'hex'), length(of.id),
                   length(of.debit), length(of.credit), coalesce(length(of.hold_id), -1), of.id, of.debit, of.credit, of.hold_id)
$function$;

CREATE OR REPLACE FUNCTION index_rules_in_force()
 RETURNS smallint
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce(
    (select (body->>'index_rules')::smallint from policy order by version desc limit 1),
    1)::smallint
$function$;

CREATE OR REPLACE FUNCTION is_priced(o orders)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select case o.customer_id when 'subscriptions' then o.amount_sun = 0
    when 'direct_recharge' then exists (
      select from price as p
      where p.resource = 'energy' and o.energy between p.min_amount and p.max_amount
        and o.energy * p.price_sun <= o.amount_sun * 1000
        and (p.changed_by = 'shipped' or p.since < o.created_at + interval '10 seconds')
        and (p.until is null or p.until > o.created_at - interval '10 seconds'))
    else o.amount_sun - o.fee_sun >= least(
      least_price_sun(o.energy, o.bandwidth, o.created_at), (
        select least_price_sun(o.energy, o.bandwidth, q.made_at) from quote as q
        where q.id = o.quote_id and o.created_at between q.made_at and q.expires_at
          and q.expires_at < q.made_at + interval '10 minutes')) end
$function$;

CREATE OR REPLACE FUNCTION journal_sum(of journal, previous text, record text, entries text)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select encode(sha256(convert_to(row(previous, of.number, of.first_entry, of.last_entry, of.entries, of.actions,
    encode(timestamptz_send(of.sealed_at), 'hex'), record, entries)::text, 'UTF8')), 'hex')
$function$;

CREATE OR REPLACE FUNCTION keep_account_sums()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.posted_sun := case tg_op when 'UPDATE' then old.posted_sun else 0 end;
  new.held_sun := case tg_op when 'UPDATE' then old.held_sun else 0 end;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION keep_signed()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
  if new.signed is null and old.state = 'solid' and new.tx_id = old.tx_id
    and new.expires_at = old.expires_at
    and greatest(old.made_at, old.block_time) < now() - interval '30 days'
  then
    return new;
  end if;
  raise exception 'what was signed for attempt % is kept', old.id
    using errcode = 'check_violation', constraint = 'attempt_keeps_signed', table = 'attempt';
end $function$;

CREATE OR REPLACE FUNCTION least_fee_sun(at timestamp with time zone)
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$
  select min(price_sun) from fee
  where name = 'activate_address'
    and (changed_by = 'shipped' or since < at + interval '10 seconds')
    and (until is null or until > at - interval '10 seconds')
$function$;

CREATE OR REPLACE FUNCTION least_price_sun(energy bigint, bandwidth bigint, at timestamp with time zone)
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$
  select case when count(least_sun) = count(*) then coalesce(sum(least_sun), 0)::bigint end
  from (values ('energy', energy), ('bandwidth', bandwidth)) as part (resource, amount),
    lateral (
      select min(greatest((price_sun * part.amount + 5000000) / 10000000, 1) * 10000) as least_sun
      from price
      where price.resource = part.resource and part.amount between min_amount and max_amount
        and (changed_by = 'shipped' or since < at + interval '10 seconds')
        and (until is null or until > at - interval '10 seconds')) as charged
  where part.amount > 0
$function$;

CREATE OR REPLACE FUNCTION must(held boolean, otherwise text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  if held is not true then
    raise exception '%', otherwise;
  end if;
end $function$;

CREATE OR REPLACE FUNCTION operator_action_sum(previous text, of operator_action)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  select encode(sha256(convert_to(previous || (case
    when of.made_role is null then jsonb_build_array(of.number, extract(epoch from of.made_at),
      of.made_by, of.reason, of.action, of.subject, of.before, of.after)
    else jsonb_build_array(of.number, extract(epoch from of.made_at), of.made_by, of.reason,
      of.action, of.subject, of.before, of.after, of.made_role, of.made_from) end)::text, 'UTF8')), 'hex')
$function$;

CREATE OR REPLACE FUNCTION pays_fee(o orders)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select o.fee_sun >= least(least_fee_sun(o.created_at), (
    select least_fee_sun(q.made_at) from quote as q
    where q.id = o.quote_id and o.created_at between q.made_at and q.expires_at
      and q.expires_at < q.made_at + interval '10 minutes'))
$function$;

CREATE OR REPLACE FUNCTION raised_sun(base bigint, raise integer, least_sun bigint)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
AS $function$
    select greatest((base * (100 + raise) + 99) / 100,
      case when least_sun > 10 * base then 10 * base else least_sun end)
  $function$;

CREATE OR REPLACE FUNCTION refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
end $function$;

CREATE OR REPLACE FUNCTION reprice()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
  tier record;
begin
  lock table price in share row exclusive mode;
  for tier in
    select p.id, p.min_amount, p.max_amount, p.price_sun, p.since,
      coalesce(p.base_sun, p.price_sun) as base,
      ruled_sun(new.resource, coalesce(p.base_sun, p.price_sun)) as ruled
    from price as p where p.resource = new.resource and p.until is null order by p.min_amount
  loop
    continue when tier.ruled = tier.price_sun;
    update price set until = greatest(new.looked_at, tier.since) where id = tier.id;
    insert into price (resource, min_amount, max_amount, price_sun, base_sun, since, changed_by)
    values (new.resource, tier.min_amount, tier.max_amount, tier.ruled,
      nullif(tier.base, tier.ruled), new.looked_at, 'price rules');
  end loop;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION ruled_sun(wanted text, base bigint)
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$
    select coalesce((
      select raised_sun(base,
        least(r.raise_percent, coalesce((
          select max((step ->> 'raise_percent')::integer) from jsonb_array_elements(r.steps) as step
        ), 0)),
        case when r.margin_percent is not null then r.floor_sun end)
      from price_rule as r where r.resource = wanted), base)
  $function$;

CREATE OR REPLACE FUNCTION set_role_password(role text, verifier text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  if role !~ '^penstock_(api|worker|admin|signer|read)$' then
    raise exception 'there is no role % of Penstock', role;
  end if;
  execute format('alter role %I login password %L', role, verifier);
end $function$;

CREATE OR REPLACE FUNCTION version_difference(before_version bigint, after_version bigint)
 RETURNS TABLE(change text, list text, address text, category text, entity text, kind text, confidence smallint, reference text, valid_from timestamp with time zone, valid_to timestamp with time zone)
 LANGUAGE sql
 STABLE
AS $function$
  with between_them as (
    select v.id, v.list from list_version as v
    where v.list = (select o.list from list_version as o
        where o.id = greatest(before_version, after_version))
      and v.id > least(before_version, after_version)
      and v.id <= greatest(before_version, after_version)
  ), higher as (
    select b.list, e.address, e.category, e.entity, e.kind, e.confidence, e.reference, e.valid_from,
      e.valid_to
    from between_them as b join list_entry as e on e.version_id = b.id
    left join list_removal as r on r.entry_version = e.version_id and r.n = e.n
    where r.version_id is null or r.version_id > greatest(before_version, after_version)
  ), lower as (
    select b.list, e.address, e.category, e.entity, e.kind, e.confidence, e.reference, e.valid_from,
      e.valid_to
    from between_them as b join list_removal as r on r.version_id = b.id
    join list_entry as e on e.version_id = r.entry_version and e.n = r.n
    where r.entry_version <= least(before_version, after_version)
  )
  select case when after_version > before_version then 'added' else 'removed' end, h.*
  from (select * from higher except select * from lower) as h
  union all
  select case when after_version > before_version then 'removed' else 'added' end, l.*
  from (select * from lower except select * from higher) as l
$function$;

CREATE OR REPLACE FUNCTION was_supplied(subscription text, block bigint)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select exists (
    select 1 from subscription_supply as supply join delegation as d on d.order_id = supply.order_id
      join attempt as given on given.id = d.attempt_id left join attempt as taken on taken.id = d.reclaim_id
    where supply.subscription_id = subscription and given.block_number < block
      and (taken.block_number is null or taken.block_number >= block))
$function$;

create view flow_log_ends as
 select ( select flow_block.number
           from flow_block
          order by flow_block.number
         limit 1) as first_number,
    ( select flow_block."time"
           from flow_block
          order by flow_block.number
         limit 1) as first_time,
    ( select flow_block.number
           from flow_block
          order by flow_block.number desc
         limit 1) as last_number;

create view flow_log_time as
 select number,
    "time"
   from flow_block;

create view journal_root as
 select distinct on (day) day,
    number,
    last_entry,
    sealed_at,
    sha256
   from ( select (journal.sealed_at at time zone 'UTC')::date as day,
            journal.number,
            journal.first_entry,
            journal.last_entry,
            journal.entries,
            journal.actions,
            journal.sealed_at,
            journal.sha256
           from journal) seal
  order by day, number desc;

create view noted_event as
 select event.customer_id,
    event.type,
    event.subject,
    event.at,
    event.test
   from event
union all
 select event_note.customer_id,
    event_note.type,
    event_note.subject,
    event_note.at,
    event_note.test
   from event_note;

create view version_entry as
 select v.id as version_id,
    v.list,
    e.version_id as entry_version,
    e.n,
    e.address,
    e.category,
    e.entity,
    e.kind,
    e.confidence,
    e.reference,
    e.valid_from,
    e.valid_to
   from list_version v
     join list_version o on o.list = v.list and o.id <= v.id
     join list_entry e on e.version_id = o.id
     left join list_removal r on r.entry_version = e.version_id and r.n = e.n
  where r.version_id is null or r.version_id > v.id;

create view webhook_to_tell as
 with recursive waiting(webhook_id) as (
        ( select n.webhook_id
           from notice n
          where n.state = 'due'
          order by n.webhook_id
         limit 1)
        union all
         select ( select n.webhook_id
                   from notice n
                  where n.state = 'due' and n.webhook_id > waiting.webhook_id
                  order by n.webhook_id
                 limit 1) as webhook_id
           from waiting
          where waiting.webhook_id is not null
        )
 select waiting.webhook_id
   from waiting
  where waiting.webhook_id is not null
union all
 select w.id as webhook_id
   from webhook w
     join event_counter c on c.customer_id = w.customer_id
  where w.state = 'on' and w."position" < c.last_number;

create trigger account_begins_empty before insert on account for each row execute function keep_account_sums();

create trigger account_sums_follow_transfers before update on account for each row when ((new.posted_sun <> old.posted_sun or new.held_sun <> old.held_sun) and (pg_trigger_depth() = 0 or not has_table_privilege('account'::regclass::oid, 'truncate'))) execute function keep_account_sums();

create trigger aml_case_entry_is_append_only before delete or update on aml_case_entry for each row execute function refuse_change();

create trigger aml_case_entry_is_not_truncated before truncate on aml_case_entry for each statement execute function refuse_change();

create trigger aml_evidence_never_changes before update on aml_evidence for each row execute function refuse_change();

create trigger approval_rule_is_append_only before delete or update on approval_rule for each row execute function refuse_change();

create trigger approval_rule_is_not_truncated before truncate on approval_rule for each statement execute function refuse_change();

create trigger attempt_keeps_signed before update on attempt for each row when (old.signed is not null and new.signed is distinct from old.signed) execute function keep_signed();

create trigger correction_is_append_only before delete or update on correction for each row execute function refuse_change();

create trigger correction_is_not_truncated before truncate on correction for each statement execute function refuse_change();

create trigger customer_action_is_append_only before delete or update on customer_action for each row execute function refuse_change();

create trigger customer_action_is_chained before insert on customer_action for each row execute function chain_customer_action();

create trigger customer_action_is_not_truncated before truncate on customer_action for each statement execute function refuse_change();

create trigger deposit_resolution_is_append_only before delete or update on deposit_resolution for each row execute function refuse_change();

create trigger deposit_resolution_is_not_truncated before truncate on deposit_resolution for each statement execute function refuse_change();

create trigger flow_reach_is_append_only before delete or update on flow_reach for each row execute function refuse_change();

create trigger invoice_is_append_only before delete or update on invoice for each row execute function refuse_change();

create trigger invoice_is_not_truncated before truncate on invoice for each statement execute function refuse_change();

create trigger issuer_word_is_append_only before delete or update on issuer_word for each row execute function refuse_change();

create trigger journal_is_append_only before delete or update on journal for each row execute function refuse_change();

create trigger journal_is_not_truncated before truncate on journal for each statement execute function refuse_change();

create trigger label_set_is_append_only before delete or update on label_set for each row execute function refuse_change();

create trigger label_set_version_is_append_only before delete or update on label_set_version for each row execute function refuse_change();

create trigger list_entry_is_append_only before delete or update on list_entry for each row execute function refuse_change();

create trigger list_removal_is_append_only before delete or update on list_removal for each row execute function refuse_change();

create trigger list_version_is_append_only before delete or update on list_version for each row execute function refuse_change();

create trigger operator_action_is_append_only before delete or update on operator_action for each row execute function refuse_change();

create trigger operator_action_is_chained before insert on operator_action for each row execute function chain_operator_action();

create trigger operator_action_is_not_truncated before truncate on operator_action for each statement execute function refuse_change();

create trigger policy_is_append_only before delete or update on policy for each row execute function refuse_change();

create trigger price_rule_reprices after update on price_rule for each row when (old.floor_sun is distinct from new.floor_sun or old.raise_percent <> new.raise_percent) execute function reprice();

create trigger transfer_adds_to_accounts after insert on transfer referencing new table as made for each statement execute function add_to_account_sums();

create trigger transfer_is_append_only before delete or update on transfer for each row execute function refuse_change();

create trigger transfer_is_not_truncated before truncate on transfer for each statement execute function refuse_change();
