-- What one node says of a solid block counts when a second one says the same, where two or more are configured. Up to
-- `confirmed_number` that is so; who reads solid blocks for money reads no further. With one node it is the solid block.
alter table chain add column confirmed_number bigint;
update chain set confirmed_number = solid_number;
alter table chain alter column confirmed_number set not null;
alter table chain add constraint chain_confirmed_not_above_solid check (confirmed_number <= solid_number);
-- Since when there are solid blocks and none was confirmed, by our clock.
alter table chain add column unconfirmed_since timestamptz;
-- The block about which the nodes disagree so that nobody can say which is right: nothing is sold meanwhile.
alter table chain add column disputed_number bigint;

-- The nodes that gave the block and its receipts, and a sum of its transactions' ids and outcomes to compare others' with;
-- empty in blocks that were stored before these were kept.
alter table block add column read_from text[] not null default '{}';
alter table block add column outcomes_sha256 text not null default '';

-- Nodes that said different things of the same solid block. One row for each set of them, with the last such block.
create table node_dispute (
  dissenting    text[] not null,                   -- those that the majority is against; all of them when there is none
  against       text[] not null,                   -- the majority; none when it is not known who is right
  number        bigint not null,
  what          text not null,                     -- what differs
  times         bigint not null,
  first_at      timestamptz not null,
  last_at       timestamptz not null,
  constraint node_dispute_pkey primary key (dissenting, against),
  constraint node_dispute_of_somebody check (cardinality(dissenting) > 0)
);
