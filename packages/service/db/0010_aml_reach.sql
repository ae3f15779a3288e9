-- The flow index can be computed anew: from an earlier block on, when a node's past has been read into the log, or with the
-- hubs that were found since. Blocks of the past are put before those of the log, with numbers of transfers below theirs.
alter table flow_block drop constraint flow_block_first_sequence;

-- From which block on the index is computed. A row is added when that changes, or to have it computed anew; the last one
-- counts. Before the first row, it is the first block that was followed.
create table flow_reach (
  number        integer generated always as identity,
  first_number  bigint not null,
  made_at       timestamptz not null,
  made_by       text not null,
  reason        text not null,
  constraint flow_reach_pkey primary key (number)
);

create trigger flow_reach_is_append_only before update or delete on flow_reach
  for each row execute function refuse_change();

alter table flow_generation add reach integer not null default 0;
alter table flow_generation add first_number bigint;
update flow_generation set first_number = coalesce((select min(number) from flow_block), 0);
alter table flow_generation alter first_number set not null;
alter table flow_generation drop constraint flow_generation_once;
alter table flow_generation add constraint flow_generation_once unique (label_set, reach);

-- Addresses without a label that deal with so many others that they must be a service: terminals of a generation, found
-- by the one before.
create table flow_hub (
  generation    integer not null,
  address       text not null,
  counterparties integer not null,
  constraint flow_hub_pkey primary key (generation, address),
  constraint flow_hub_of_generation foreign key (generation) references flow_generation (number)
);

-- What tokens' freeze lists say now, for those who ask about one address. Read from the chain with the log.
create table flow_freeze (
  token         text not null,
  address       text not null,
  frozen        boolean not null,
  number        bigint not null,                   -- the block that said so
  constraint flow_freeze_pkey primary key (address, token)
);

insert into flow_freeze (token, address, frozen, number)
select distinct on (f ->> 1, f ->> 0) f ->> 0, f ->> 1, (f ->> 2)::boolean, b.number
from flow_block as b cross join lateral jsonb_array_elements(b.freezes) with ordinality as e (f, i)
order by f ->> 1, f ->> 0, b.number desc, i desc;
