-- Quotes: prices that bind us until they end. Nothing of one ever changes: it is used when an order
-- names it, and over when its time is.
create table quote (
  id            text not null,
  customer_id   text not null,
  service       text not null,
  address       text not null,
  energy        bigint not null,
  bandwidth     bigint not null,
  activate      boolean not null,
  amount_sun    bigint not null,                   -- the most that it costs, the fee included
  fee_sun       bigint not null,                   -- what of it is for activating the address
  fee_limit_sun bigint,                            -- of one for a transfer: its least fee limit
  burning_sun   bigint,                            -- what it would cost to burn TRX instead
  made_at       timestamptz not null,
  expires_at    timestamptz not null,
  constraint quote_pkey primary key (id),
  constraint quote_of_customer foreign key (customer_id) references customer (id),
  constraint quote_amounts check (least(energy, bandwidth) >= 0),
  constraint quote_price check (fee_sun >= 0 and amount_sun >= fee_sun),
  constraint quote_time check (expires_at > made_at)
);

create index quote_of_customer on quote (customer_id, expires_at);
create index quote_by_end on quote (expires_at);

alter table orders add column quote_id text;
alter table orders add constraint orders_quote foreign key (quote_id) references quote (id);
create unique index orders_quote_once on orders (quote_id) where quote_id is not null;

-- What the operator offers beside the market itself.
create table offer (
  one             boolean not null default true,
  quote_seconds_max integer not null default 300,  -- 0: there are no quotes
  forecast_shown  boolean not null default true,   -- whether customers see what room there will be
  constraint offer_pkey primary key (one),
  constraint offer_has_one_row check (one),
  constraint offer_quote_seconds
    check (quote_seconds_max = 0 or quote_seconds_max between 5 and 300)
);

insert into offer default values;
