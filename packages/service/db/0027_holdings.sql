-- What a contract sends is in no transaction's bytes: it is only what nodes show. It is credited when the balance of the
-- address, by another node, bears it out.
--
--   seen -> unproven                           its block is solid; it is in no account yet
--   unproven -> credited | held                the balance bears it out: it goes on like any deposit
--   unproven -> held                           it does not: it is money for nobody, written as the token 'unproven'
alter table deposit drop constraint deposit_state;
alter table deposit add constraint deposit_state check (state in
  ('seen', 'unproven', 'credited', 'received', 'delivering', 'delivered', 'returning', 'refunding', 'refunded', 'held',
   'ignored', 'resolved', 'gone'));
create index deposit_unproven on deposit (to_address) where state = 'unproven';
create index deposit_to_address on deposit (to_address, block_number);

-- What left an address where deposits arrive: mostly the operator collecting it.
create table deposit_outflow (
  tx_id         text not null,
  address       text not null,
  block_number  bigint not null,
  amount_sun    bigint not null,                   -- 0 when only the fee left, as with a token
  fee_sun       bigint,                            -- what the network took; null until a node was asked
  constraint deposit_outflow_pkey primary key (tx_id),
  constraint deposit_outflow_not_negative check (amount_sun >= 0 and coalesce(fee_sun, 0) >= 0)
);
create index deposit_outflow_of_address on deposit_outflow (address, block_number);
create index deposit_outflow_without_fee on deposit_outflow (block_number) where fee_sun is null;

-- What the addresses where deposits arrive hold on the solid chain, stakes included, as a node said at a block.
create table holding (
  address       text not null,
  prior_sun     bigint,                            -- what is there beyond what was seen to come and go; null: not known yet
  number        bigint,
  held_sun      bigint,
  read_from     text,
  compared      boolean not null default true,     -- with what was seen up to that block
  surplus_sun   bigint not null default 0,         -- what is there that was not seen, at the last comparison
  due_at        timestamptz not null,
  constraint holding_pkey primary key (address),
  constraint holding_read check ((number is null) = (held_sun is null) and (number is null) = (read_from is null))
);
create index holding_due on holding (due_at);
-- What came and went before was not written down: what these have now is the beginning.
insert into holding (address, due_at) select deposit_address, now() from customer;

-- Nodes that do not show what contracts send, with a transaction that tells so.
create table node_hiding (
  node          text not null,
  number        bigint not null,
  tx_id         text not null,
  seen_at       timestamptz not null,              -- the time of the block
  constraint node_hiding_pkey primary key (node)
);
