-- kind: contract
-- What transfers carried up to a block is the same in two generations that have their state there
-- in common: the later one reads it where the earlier one wrote it. Programs that are older would
-- look for a copy.
create table flow_carried_from (
  generation      integer not null,
  from_generation integer not null,
  until           bigint not null,                 -- the last block that they have in common
  constraint flow_carried_from_pkey primary key (generation, from_generation),
  constraint flow_carried_from_earlier check (from_generation < generation),
  constraint flow_carried_from_of_generation foreign key (generation)
    references flow_generation (number)
);
grant select on flow_carried_from
  to penstock_api, penstock_worker, penstock_admin, penstock_read;
grant insert, update, delete on flow_carried_from to penstock_worker;
