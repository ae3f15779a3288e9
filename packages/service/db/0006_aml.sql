-- Screening: who addresses are said to be, what moved on the chain, what was asked and what was answered.

-- Where labels come from. refresh_hours: how often the newest version is fetched; null: only when somebody imports it.
create table list (
  code          text not null,
  title         text not null,
  url           text,
  licence       text not null,
  refresh_hours integer,
  constraint list_pkey primary key (code),
  constraint list_refresh_positive check (refresh_hours > 0)
);

insert into list (code, title, url, licence, refresh_hours) values
  ('ofac_sdn', 'OFAC Specially Designated Nationals',
   'https://www.treasury.gov/ofac/downloads/sanctions/1.0/sdn_advanced.xml', 'US public domain', null),
  ('nbctf', 'Israel NBCTF seizure orders', null, 'government material; imported only', null),
  ('opensanctions', 'OpenSanctions crypto wallets', null, 'CC BY-NC; imported only', null),
  ('tagpacks', 'GraphSense TagPacks', null, 'MIT', null),
  ('operator', 'The operator''s own labels', null, 'own', null);

-- One loading of a list, as it was then. Neither it nor its entries ever change.
create table list_version (
  id            bigint generated always as identity,
  list          text not null,
  origin        text not null,                     -- the file or address it was read from
  sha256        text not null,                     -- of its entries, in order
  entries       integer not null,
  passed_over   integer not null,                  -- rows without an address of this network
  loaded_at     timestamptz not null,
  loaded_by     text not null,
  constraint list_version_pkey primary key (id),
  constraint list_version_of_list foreign key (list) references list (code),
  constraint list_version_sha256_form check (sha256 ~ '^[0-9a-f]{64}$'),
  constraint list_version_counts check (entries >= 0 and passed_over >= 0)
);

create table list_entry (
  version_id    bigint not null,
  n             integer not null,
  address       text not null,
  category      text not null,
  entity        text not null,
  kind          text not null,
  confidence    smallint not null,
  reference     text not null,                     -- where the publisher says so: a number, programme or page
  valid_from    timestamptz,                       -- null: since ever
  valid_to      timestamptz,                       -- null: still; not valid at this instant itself
  constraint list_entry_pkey primary key (version_id, n),
  constraint list_entry_of_version foreign key (version_id) references list_version (id),
  constraint list_entry_address_length check (char_length(address) = 34),
  constraint list_entry_kind check (kind in ('authority', 'ledger', 'exchange', 'curated', 'heuristic', 'tenant')),
  constraint list_entry_confidence check (confidence between 0 and 100)
);

create index list_entry_of_address on list_entry (address);

-- A label set is one version of each list that has any. It is what a screening names; a new one begins a new generation
-- of the flow index.
create table label_set (
  number        integer not null,
  sha256        text not null,                     -- of the versions' hashes
  note          text not null,
  published_at  timestamptz not null,
  published_by  text not null,
  constraint label_set_pkey primary key (number),
  constraint label_set_number_positive check (number >= 0)
);

create table label_set_version (
  label_set     integer not null,
  version_id    bigint not null,
  constraint label_set_version_pkey primary key (label_set, version_id),
  constraint label_set_version_of_set foreign key (label_set) references label_set (number),
  constraint label_set_version_of_version foreign key (version_id) references list_version (id)
);

-- Before anything is loaded: the empty set, so that a screening can always say what it rested on.
insert into label_set (number, sha256, note, published_at, published_by) values
  (0, encode(sha256(''), 'hex'), 'nothing loaded', now(), 'shipped');

create trigger list_version_is_append_only before update or delete on list_version
  for each row execute function refuse_change();
create trigger list_entry_is_append_only before update or delete on list_entry
  for each row execute function refuse_change();
create trigger label_set_is_append_only before update or delete on label_set
  for each row execute function refuse_change();
create trigger label_set_version_is_append_only before update or delete on label_set_version
  for each row execute function refuse_change();

-- Weights, thresholds and floors, by version. The shipped one is version 1 and lives in the code.
create table policy (
  version       integer not null,
  body          jsonb not null,
  published_at  timestamptz not null,
  published_by  text not null,
  constraint policy_pkey primary key (version),
  constraint policy_after_the_shipped check (version > 1)
);

create trigger policy_is_append_only before update or delete on policy
  for each row execute function refuse_change();

-- What moved on the chain: the log that the flow index is computed from. Assets are numbered: 0 is TRX, the others are
-- allow-listed tokens. Amounts of a token above its supply are not real and stay out.
create table flow_asset (
  number        smallint not null,
  contract      text not null,                     -- 'TRX', or the token's address
  symbol        text not null,
  decimals      smallint not null,
  constraint flow_asset_pkey primary key (number),
  constraint flow_asset_number check (number between 0 and 254),
  constraint flow_asset_contract_once unique (contract),
  constraint flow_asset_decimals check (decimals between 0 and 18)
);

insert into flow_asset (number, contract, symbol, decimals) values (0, 'TRX', 'TRX', 6);

create table flow_block (
  number        bigint not null,
  id            text not null,
  time          timestamptz not null,
  first_sequence bigint not null,                  -- of its first transfer; where it has none, of the next block's
  transfers     bytea not null,                    -- packed, 52 bytes each
  tx_ids        bytea not null,                    -- 32 bytes for each transfer
  freezes       jsonb not null,                    -- changes of tokens' freeze lists: [token, address, frozen]
  constraint flow_block_pkey primary key (number),
  constraint flow_block_first_sequence check (first_sequence > 0),
  constraint flow_block_tx_id_each check (octet_length(transfers) / 52 = octet_length(tx_ids) / 32)
);

create index flow_block_by_sequence on flow_block (first_sequence);

-- A generation is the flow index under one label set (and one set of hubs).
create table flow_generation (
  number        integer generated always as identity,
  label_set     integer not null,
  begun_at      timestamptz not null,
  active_at     timestamptz,                       -- when a process first screened with it
  constraint flow_generation_pkey primary key (number),
  constraint flow_generation_of_set foreign key (label_set) references label_set (number),
  constraint flow_generation_once unique (label_set)
);

-- The index at a block, as bytes in parts: a shortcut for a start, never the only copy of anything.
create table flow_checkpoint (
  generation    integer not null,
  number        bigint not null,
  parts         integer not null,
  made_at       timestamptz not null,
  constraint flow_checkpoint_pkey primary key (generation, number),
  constraint flow_checkpoint_of_generation foreign key (generation) references flow_generation (number)
);

create table flow_checkpoint_part (
  generation    integer not null,
  number        bigint not null,
  part          integer not null,
  bytes         bytea not null,
  constraint flow_checkpoint_part_pkey primary key (generation, number, part)
);

-- What each transfer of a recent block carried, in a generation: every process computes the same.
create table flow_carried (
  generation    integer not null,
  number        bigint not null,
  carried       bytea not null,
  constraint flow_carried_pkey primary key (generation, number),
  constraint flow_carried_of_generation foreign key (generation) references flow_generation (number)
);

-- Prices of checks, kept like the market's: a new price ends the row before and begins another.
create table aml_price (
  id            bigint generated always as identity,
  type          text not null,
  price_sun     bigint not null,
  since         timestamptz not null default now(),
  until         timestamptz,
  changed_by    text not null,
  constraint aml_price_pkey primary key (id),
  constraint aml_price_type check (type in ('address', 'hash')),
  constraint aml_price_positive check (price_sun > 0)
);

create unique index aml_price_once on aml_price (type) where until is null;

insert into aml_price (type, price_sun, changed_by) values ('address', 1000000, 'shipped'), ('hash', 1500000, 'shipped');

-- A type of check that is off sale refuses with code 35.
create table aml_service (
  type          text not null,
  on_sale       boolean not null,
  changed_by    text not null,
  constraint aml_service_pkey primary key (type),
  constraint aml_service_type check (type in ('address', 'hash'))
);

insert into aml_service (type, on_sale, changed_by) values ('address', true, 'shipped'), ('hash', true, 'shipped');

-- A check: pending -> processing -> completed (charged) | failed (nothing charged). Its hold in the ledger is 'aml:' and
-- its id; a re-screening costs nothing and has none. Once it has ended it never changes.
create table aml_check (
  id            text not null,
  customer_id   text not null,
  idempotency_key text,
  type          text not null,
  network       text not null,
  address       text not null,
  hash          text,
  direction     text,                              -- as asked
  state         text not null default 'pending',
  price_sun     bigint not null,
  key_id        text,                              -- the API key, when it may only spend so much in a day
  solid_number  bigint not null,                   -- the index reaches at least this block before it is answered
  due_at        timestamptz not null,              -- when to look at it again
  tries         integer not null default 0,
  created_at    timestamptz not null,
  ended_at      timestamptz,
  risk_score    text,
  risk_level    text,
  blacklist     boolean not null default false,
  risk_factors  jsonb not null default '[]',
  error         text,                              -- why it failed
  provider      text,                              -- who answered
  policy        integer,
  label_set     integer,
  generation    integer,
  index_number  bigint,                            -- the last block that the answer knows
  evidence_sha256 text,
  supersedes    text,                              -- the check that this one repeats
  constraint aml_check_pkey primary key (id),
  constraint aml_check_type check (type in ('address', 'hash')),
  constraint aml_check_hash_has_hash check ((type = 'hash') = (hash is not null)),
  constraint aml_check_direction check (direction in ('deposit', 'withdrawal')),
  constraint aml_check_state check (state in ('pending', 'processing', 'completed', 'failed')),
  constraint aml_check_price_not_negative check (price_sun >= 0),
  constraint aml_check_idempotency_once unique (customer_id, idempotency_key),
  constraint aml_check_ended check ((state in ('completed', 'failed')) = (ended_at is not null)),
  constraint aml_check_failed_says_why check ((state = 'failed') = (error is not null)),
  constraint aml_check_completed_has_result check (
    (state = 'completed') = (risk_score is not null) and (risk_score is null) = (risk_level is null)
    and (state = 'completed' or (not blacklist and risk_factors = '[]'))),
  constraint aml_check_level check (risk_level in ('low', 'medium', 'high')),
  constraint aml_check_supersedes foreign key (supersedes) references aml_check (id)
);

create index aml_check_of_customer on aml_check (customer_id, created_at desc, id desc);
create index aml_check_of_customer_by_state on aml_check (customer_id, state, created_at desc, id desc);
create index aml_check_open on aml_check (due_at, id) where state in ('pending', 'processing');

-- How many checks a customer has in each state: kept sums, and changes not yet added to them. A total is one of each.
create table aml_count (
  customer_id   text not null,
  state         text not null,
  n             bigint not null,
  constraint aml_count_pkey primary key (customer_id, state)
);

create table aml_count_delta (
  id            bigint generated always as identity,
  customer_id   text not null,
  state         text not null,
  d             bigint not null,
  constraint aml_count_delta_pkey primary key (id)
);

create index aml_count_delta_of_customer on aml_count_delta (customer_id);

-- What an answer rests on: canonical JSON, and its hash. Deleted after the time of retention, never changed.
create table aml_evidence (
  check_id      text not null,
  canonical     text not null,
  sha256        text not null,
  constraint aml_evidence_pkey primary key (check_id),
  constraint aml_evidence_of_check foreign key (check_id) references aml_check (id),
  constraint aml_evidence_hash_is_true check (encode(sha256(convert_to(canonical, 'UTF8')), 'hex') = sha256)
);

create trigger aml_evidence_never_changes before update on aml_evidence
  for each row execute function refuse_change();

-- What an outside provider answered, byte for byte, also when it came too late to count.
create table aml_answer (
  id            bigint generated always as identity,
  check_id      text not null,
  provider      text not null,
  outcome       text not null,                     -- 'answered', or the kind of its failure
  body          bytea not null,
  sha256        text not null,
  received_at   timestamptz not null,
  constraint aml_answer_pkey primary key (id),
  constraint aml_answer_of_check foreign key (check_id) references aml_check (id)
);

create index aml_answer_of_check on aml_answer (check_id);

-- What a customer (null: the operator, for all) has decided about an address. Denying makes it a blacklist match; allowing
-- lifts floors, and never what an authority says.
create table aml_entry (
  id            text not null,
  customer_id   text,
  address       text not null,
  kind          text not null,
  reason        text not null,
  made_by       text not null,
  made_at       timestamptz not null,
  expires_at    timestamptz,
  withdrawn_at  timestamptz,
  constraint aml_entry_pkey primary key (id),
  constraint aml_entry_kind check (kind in ('allow', 'deny')),
  constraint aml_entry_reason_given check (char_length(reason) between 1 and 1000)
);

create index aml_entry_of_address on aml_entry (address);

-- Addresses that a customer has screened again whenever the labels change.
create table aml_watch (
  customer_id   text not null,
  address       text not null,
  made_at       timestamptz not null,
  label_set     integer not null,                  -- the one it was last screened under
  check_id      text,                              -- the newest check of it
  constraint aml_watch_pkey primary key (customer_id, address),
  constraint aml_watch_check foreign key (check_id) references aml_check (id)
);

create index aml_watch_by_set on aml_watch (label_set);
