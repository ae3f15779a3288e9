-- Money that arrived on the chain. Every deposit has one end; in this table it is credited to a customer, or held for
-- the operator with a reason.

create table deposit (
  tx_id         text not null,
  from_address  text not null,
  to_address    text not null,
  amount_sun    bigint not null,
  block_number  bigint not null,
  block_time    timestamptz not null,
  customer_id   text,
  state         text not null,
  reason        text,
  seen_at       timestamptz not null,
  constraint deposit_pkey primary key (tx_id),
  constraint deposit_state check (state in ('credited', 'held')),
  constraint deposit_amount_positive check (amount_sun > 0),
  constraint deposit_credited_to_somebody check ((state = 'credited') = (customer_id is not null)),
  constraint deposit_held_for_a_reason check ((state = 'held') = (reason is not null))
);

create index deposit_of_customer on deposit (customer_id, block_number);
