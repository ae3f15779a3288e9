-- What is sold, for how much, what was bought, and what became of it.

-- Prices are rows that are never changed: a new price ends the row before and begins another. For one resource no two
-- rows in force reach the same amount.
create table price (
  id            bigint generated always as identity,
  resource      text not null,
  duration_hours integer not null default 1,
  min_amount    bigint not null,
  max_amount    bigint not null,
  price_sun     bigint not null,                   -- of 1000 units
  since         timestamptz not null default now(),
  until         timestamptz,
  changed_by    text not null,
  constraint price_pkey primary key (id),
  constraint price_resource check (resource in ('energy', 'bandwidth')),
  constraint price_duration check (duration_hours = 1),
  constraint price_range check (min_amount > 0 and max_amount >= min_amount),
  constraint price_positive check (price_sun > 0),
  constraint price_energy_once exclude using gist (int8range(min_amount, max_amount, '[]') with &&)
    where (resource = 'energy' and until is null),
  constraint price_bandwidth_once exclude using gist (int8range(min_amount, max_amount, '[]') with &&)
    where (resource = 'bandwidth' and until is null)
);

insert into price (resource, min_amount, max_amount, price_sun, changed_by) values
  ('energy', 32000, 130999, 45000, 'shipped'),
  ('energy', 131000, 3000000, 42000, 'shipped'),
  ('bandwidth', 300, 100000, 1000000, 'shipped');

-- Flat prices, kept in the same way.
create table fee (
  id            bigint generated always as identity,
  name          text not null,
  price_sun     bigint not null,
  since         timestamptz not null default now(),
  until         timestamptz,
  changed_by    text not null,
  constraint fee_pkey primary key (id),
  constraint fee_name check (name in ('activate_address')),
  constraint fee_positive check (price_sun > 0)
);

create unique index fee_once on fee (name) where until is null;

insert into fee (name, price_sun, changed_by) values ('activate_address', 1400000, 'shipped');

-- Switches: a service that is off sale refuses with code 35.
create table service (
  name          text not null,
  on_sale       boolean not null,
  changed_by    text not null,
  constraint service_pkey primary key (name)
);

insert into service (name, on_sale, changed_by) values
  ('energy', true, 'shipped'), ('bandwidth', true, 'shipped'), ('resource_bundle', true, 'shipped'),
  ('activate_address', true, 'shipped'), ('direct_recharge', true, 'shipped');

-- What can be delivered now, over all wallets, in units of the resource. reserved is the part of room that open orders
-- will take when they are delegated; an order is only placed while room - reserved covers it. total_limit and
-- total_weight are the network's: a stake of one TRX gives total_limit / total_weight units.
create table pool (
  resource      text not null,
  room          bigint not null default 0,
  reserved      bigint not null default 0,
  total_limit   bigint not null default 0,
  total_weight  bigint not null default 0,
  constraint pool_pkey primary key (resource),
  constraint pool_resource check (resource in ('energy', 'bandwidth')),
  constraint pool_reserved_not_negative check (reserved >= 0)
);

insert into pool (resource) values ('energy'), ('bandwidth');

-- A staked wallet: how much of its stake the chain would let us delegate, as of a block.
create table pool_wallet (
  address       text not null,
  resource      text not null,
  room_sun      bigint not null,
  block_number  bigint not null,                   -- the head before the survey asked
  constraint pool_wallet_pkey primary key (address, resource),
  constraint pool_wallet_resource foreign key (resource) references pool (resource)
);

-- The activation of an address: new -> activating -> active | failed. One at a time for an address.
create table activation (
  id            text not null,
  address       text not null,
  state         text not null default 'new',
  attempt_id    text,
  tries         integer not null default 0,
  made_at       timestamptz not null,
  constraint activation_pkey primary key (id),
  constraint activation_state check (state in ('new', 'activating', 'active', 'failed')),
  constraint activation_attempt foreign key (attempt_id) references attempt (id)
);

create unique index activation_one_under_way on activation (address) where state in ('new', 'activating');
create index activation_of_address on activation (address) where state <> 'failed';
create index activation_of_attempt on activation (attempt_id);
create index activation_open on activation (made_at) where state in ('new', 'activating');

-- An order: new -> pending -> success | failed. Its hold in the ledger is 'order:' and its id; one that costs nothing (a
-- subscription's top-up) has none.
create table orders (
  id            text not null,
  customer_id   text not null,
  external_id   text,
  key_id        text,                              -- the API key that placed it, when that has a daily cap
  service       text not null,
  address       text not null,
  energy        bigint not null default 0,
  bandwidth     bigint not null default 0,
  activate      boolean not null,                  -- as asked
  activation_id text,                              -- the activation it pays for or waits for
  state         text not null default 'new',
  to_delegate   boolean not null,                  -- part of what was bought is not delegated yet
  amount_sun    bigint not null,                   -- what it costs, the fee for an activation included
  fee_sun       bigint not null default 0,         -- of that, for the activation
  tx_id         text,                              -- of the delegation (energy's first), or of the activation
  tries         integer not null default 0,        -- how often a delegation for it has died
  due_at        timestamptz not null,              -- when to look at it again, on our clock
  created_at    timestamptz not null,
  constraint orders_pkey primary key (id),
  constraint orders_service check (service in ('energy', 'bandwidth', 'resource_bundle', 'activate_address')),
  constraint orders_state check (state in ('new', 'pending', 'success', 'failed')),
  constraint orders_external_id_once unique (customer_id, external_id),
  constraint orders_amounts_fit_service check (
    (energy > 0) = (service in ('energy', 'resource_bundle')) and
    (bandwidth > 0) = (service in ('bandwidth', 'resource_bundle'))),
  constraint orders_prices check (fee_sun between 0 and amount_sun),
  constraint orders_success_has_hash check (state <> 'success' or tx_id is not null),
  constraint orders_activation foreign key (activation_id) references activation (id)
);

create index orders_of_customer on orders (customer_id, id desc);
create index orders_of_activation on orders (activation_id) where activation_id is not null;
create index orders_to_delegate on orders (due_at, id) where to_delegate;
create index orders_open on orders (id) where state in ('new', 'pending');

-- A delegation of ours: delegating -> active -> reclaiming -> ended; or delegating -> failed, and nothing is on the
-- chain. A fork can take any arrow back until its transaction is solid.
create table delegation (
  id            text not null,
  order_id      text not null,
  wallet        text not null,
  receiver      text not null,
  resource      text not null,
  amount        bigint not null,                   -- units bought
  stake_sun     bigint not null,                   -- what is delegated, and what is taken back, to the sun
  state         text not null default 'delegating',
  attempt_id    text not null,
  reclaim_id    text,                              -- the attempt that takes it back
  delegated_at  timestamptz,                       -- time of the block that has it
  expires_at    timestamptz,                       -- when the hour is over, on the chain's clock
  reclaimed_at  timestamptz,
  constraint delegation_pkey primary key (id),
  constraint delegation_resource foreign key (resource) references pool (resource),
  constraint delegation_state check (state in ('delegating', 'active', 'reclaiming', 'ended', 'failed')),
  constraint delegation_amounts check (amount > 0 and stake_sun >= 1000000),
  constraint delegation_order foreign key (order_id) references orders (id),
  constraint delegation_attempt foreign key (attempt_id) references attempt (id),
  constraint delegation_attempt_once unique (attempt_id),
  constraint delegation_reclaim foreign key (reclaim_id) references attempt (id),
  constraint delegation_reclaim_once unique (reclaim_id),
  constraint delegation_has_its_times check (
    (state in ('delegating', 'failed')) = (delegated_at is null) and (delegated_at is null) = (expires_at is null)
    and (state = 'ended') = (reclaimed_at is not null)
    and (state not in ('reclaiming', 'ended') or reclaim_id is not null))
);

create index delegation_of_order on delegation (order_id);
create index delegation_open on delegation (attempt_id) where state = 'delegating';
create index delegation_to_reclaim on delegation (expires_at) where state = 'active';
create index delegation_reclaiming on delegation (reclaim_id) where state = 'reclaiming';
create index delegation_of_wallet on delegation (wallet, resource) where state in ('delegating', 'active');
