-- Money that arrived on the chain, at a customer's deposit address or at the published address for direct recharge.
--
--   credited                                   a customer's balance
--   received -> delivering -> delivered        direct recharge: energy for the sender
--          \             \
--           `-------------`-> returning -> refunding -> refunded
--                                     \-> held (with a reason, for the operator)
--   received, returning -> gone                a fork took it back before anything was done about it

create table deposit (
  tx_id         text not null,
  position      integer not null,                  -- 0: the transaction's own transfer; n: the nth event of its block
  from_address  text not null,
  to_address    text not null,
  amount_sun    bigint,                            -- of TRX
  token         text,                              -- or the contract of another token,
  token_amount  numeric(78),                       -- in its smallest unit
  block_number  bigint not null,
  block_time    timestamptz not null,
  customer_id   text,
  state         text not null,
  reason        text,                              -- why it is not delivered
  energy        bigint,                            -- what a direct recharge buys
  order_id      text,
  refund_id     text,                              -- the attempt that sends it back
  solid_at      timestamptz,                       -- when it was seen in a solid block: only then it is in the ledger
  due_at        timestamptz not null,              -- when to look at it again, on our clock
  seen_at       timestamptz not null,
  constraint deposit_pkey primary key (tx_id, position),
  constraint deposit_state check
    (state in ('credited', 'received', 'delivering', 'delivered', 'returning', 'refunding', 'refunded', 'held', 'gone')),
  constraint deposit_amount check (
    (amount_sun is null) = (token is not null) and (token is null) = (token_amount is null) and coalesce(amount_sun, 1) > 0),
  constraint deposit_credited_to_somebody check (state <> 'credited' or (customer_id is not null and solid_at is not null)),
  constraint deposit_held_for_a_reason check (state not in ('returning', 'refunding', 'refunded', 'held') or reason is not null),
  constraint deposit_delivered_by_an_order check (state not in ('delivering', 'delivered') or order_id is not null),
  constraint deposit_order foreign key (order_id) references orders (id),
  constraint deposit_order_once unique (order_id),
  constraint deposit_refund foreign key (refund_id) references attempt (id),
  constraint deposit_refund_once unique (refund_id)
);

create index deposit_of_customer on deposit (customer_id, block_number);
create index deposit_not_solid on deposit (block_number) where solid_at is null;
create index deposit_open on deposit (due_at) where state in ('received', 'delivering', 'returning', 'refunding');

-- Pays for the orders of direct recharge: what arrived goes in when it is solid, what is delivered goes out to revenue. It
-- is in the name of nobody, and negative by what was delivered before it was solid and then taken back by a fork.
insert into account (id, may_go_negative) values ('customer:direct_recharge', true);
