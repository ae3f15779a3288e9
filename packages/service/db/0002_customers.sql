-- Who buys, and the keys they sign with.

-- Numbers the deposit addresses. A creation that is rolled back leaves a gap: a wallet that looks for used addresses in
-- order must look past gaps.
create sequence customer_deposit_index as integer minvalue 0 start with 0;

create table customer (
  id          text not null,
  name        text not null,
  created_at  timestamptz not null,
  deposit_index integer not null,                  -- the address is child 0/deposit_index of the operator's public key
  deposit_address text not null,
  constraint customer_pkey primary key (id),
  constraint customer_name_length check (char_length(name) between 1 and 200),
  constraint customer_deposit_index_not_negative check (deposit_index >= 0),
  constraint customer_deposit_index_once unique (deposit_index),
  constraint customer_deposit_address_length check (char_length(deposit_address) = 34),
  constraint customer_deposit_address_once unique (deposit_address)
);

-- The token is kept as a hash. The secret must be readable, because a signature is made with it, and is sealed with a
-- key that is not in this database. Neither is ever shown again.
create table api_key (
  id          text not null,
  customer_id text not null,
  name        text not null,
  token_hash  text not null,                       -- hexadecimal SHA-256
  sealed_secret text not null,                     -- '<sealing key>.<base64url>', bound to id
  scopes      text[],                              -- null: all
  allowed_networks text[],                         -- null: from anywhere
  daily_cap_sun bigint,                            -- null: no limit
  require_v2  boolean not null,                    -- refuse a request that has only the old signature
  created_at  timestamptz not null,
  revoked_at  timestamptz,
  constraint api_key_pkey primary key (id),
  constraint api_key_of_customer foreign key (customer_id) references customer (id),
  constraint api_key_name_length check (char_length(name) between 1 and 200),
  constraint api_key_token_hash_form check (token_hash ~ '^[0-9a-f]{64}$'),
  constraint api_key_token_once unique (token_hash),
  constraint api_key_scopes_known check (scopes <@ array['read', 'buy', 'aml'] and cardinality(scopes) > 0),
  constraint api_key_allowed_networks_not_empty check (cardinality(allowed_networks) > 0),
  constraint api_key_daily_cap_not_negative check (daily_cap_sun >= 0)
);

create index api_key_of_customer on api_key (customer_id, id);

-- Nonces of the second signature, so that a captured request works once. Rows live for some minutes; there is no foreign
-- key, because it would be checked for every request and protect nothing.
create table api_key_nonce (
  key_id      text not null,
  nonce       text not null,
  seen_at     timestamptz not null,
  constraint api_key_nonce_once primary key (key_id, nonce)
);

create index api_key_nonce_by_age on api_key_nonce (seen_at);

-- What a key with a daily cap has spent on a day (UTC), refunds taken off.
create table api_key_spending (
  key_id        text not null,
  day           date not null,
  spent_sun     bigint not null,
  constraint api_key_spending_pkey primary key (key_id, day),
  constraint api_key_spending_key foreign key (key_id) references api_key (id)
);
