-- Plans, and customers on them. A plan is a row that is never changed; a new version ends the one before.

create table plan (
  id            integer generated always as identity,
  key           text not null,                     -- what a customer names
  name          text not null,
  activation_fee_sun bigint not null,
  initial_price_sun bigint not null,
  price_sun     bigint not null,                   -- of a served transaction beyond those included
  included      integer not null,                  -- transactions that the initial price covers
  transactions_limit integer not null,             -- 0: none
  duration_days integer not null,                  -- 0: none
  energy_per_transaction integer not null default 65000,
  since         timestamptz not null default now(),
  until         timestamptz,
  changed_by    text not null,
  constraint plan_pkey primary key (id),
  constraint plan_prices check (least(activation_fee_sun, initial_price_sun, price_sun) >= 0),
  constraint plan_limits check (least(included, transactions_limit, duration_days) >= 0),
  constraint plan_energy check (energy_per_transaction > 0)
);

create unique index plan_once on plan (key) where until is null;

insert into plan (key, name, activation_fee_sun, initial_price_sun, price_sun, included, transactions_limit, duration_days, changed_by)
values ('unlimited_energy', 'Unlimited energy', 0, 6000000, 2800000, 2, 0, 0, 'shipped'),
       ('energy_pack_100', 'Energy for 100 transactions', 0, 250000000, 0, 100, 100, 30, 'shipped');

insert into service (name, on_sale, changed_by) values ('subscription', true, 'shipped');

-- A subscription: new -> pending -> active -> stopped | expired; new, pending -> error (refunded).
create table subscription (
  id            text not null,
  customer_id   text not null,
  external_id   text,
  key_id        text,                              -- the API key that started it, when that has a daily cap
  plan_id       integer not null,
  address       text not null,
  duration      integer not null,                  -- days, as asked; 0: the plan's
  transactions_limit integer not null,             -- as asked; 0: the plan's
  activate_address boolean not null,
  state         text not null default 'new',
  reason        text,                              -- why it ended, when not by the customer
  transactions_used integer not null default 0,
  energy_used   bigint not null default 0,
  total_sun     bigint not null,                   -- charged so far
  supplies      integer not null default 0,        -- orders placed for it
  order_id      text,                              -- the last of them
  look_at       timestamptz not null,              -- when to see to its supply, on our clock
  created_at    timestamptz not null,
  started_at    timestamptz,
  renewed_at    timestamptz,
  stopped_at    timestamptz,
  expire_at     timestamptz,
  constraint subscription_pkey primary key (id),
  constraint subscription_external_id_once unique (customer_id, external_id),
  constraint subscription_plan foreign key (plan_id) references plan (id),
  constraint subscription_order foreign key (order_id) references orders (id),
  constraint subscription_state check (state in ('new', 'pending', 'active', 'stopped', 'expired', 'error')),
  constraint subscription_asked check (least(duration, transactions_limit) >= 0)
);

create unique index subscription_one_per_address on subscription (address) where state in ('new', 'pending', 'active');
create index subscription_of_customer on subscription (customer_id, id desc);
create index subscription_to_look_at on subscription (look_at) where state in ('new', 'pending', 'active');

-- The orders that supply a subscription, and the transactions of its address that used energy: each counted once.
create table subscription_supply (
  subscription_id text not null,
  order_id      text not null,
  constraint subscription_supply_pkey primary key (subscription_id, order_id),
  constraint subscription_supply_subscription foreign key (subscription_id) references subscription (id),
  constraint subscription_supply_order foreign key (order_id) references orders (id)
);

create index subscription_supply_of_order on subscription_supply (order_id);

create table subscription_use (
  subscription_id text not null,
  tx_id         text not null,
  energy        bigint not null,
  transactions  integer not null,
  charged_sun   bigint not null,
  used_at       timestamptz not null,
  constraint subscription_use_pkey primary key (subscription_id, tx_id),
  constraint subscription_use_subscription foreign key (subscription_id) references subscription (id)
);
