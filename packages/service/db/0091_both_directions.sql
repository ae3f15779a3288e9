-- kind: contract
-- What an address sent, and how the index of a generation is computed.

-- 1: transfers alone. 2: swaps at pools keep the origin of what was given, and addresses that only
-- forward to a service are the service's. Answers name a generation, so each is done again by its
-- own rules.
alter table flow_generation add column rules smallint not null default 1;
alter table flow_generation alter column rules drop default;
alter table flow_generation drop constraint flow_generation_once;
alter table flow_generation add constraint flow_generation_once
  unique (label_set, reach, rules);

-- The rules that the policy in force asks for: the first where it says nothing of them.
create function index_rules_in_force() returns smallint language sql stable as $$
  select coalesce(
    (select (body->>'index_rules')::smallint from policy order by version desc limit 1),
    1)::smallint
$$;

-- Addresses that only forward to a service: labels that a generation takes from the reading of the
-- log before it.
create table flow_deposit (
  generation integer not null,
  address    text not null,
  service    text not null,                        -- an address of the service, as labelled
  entity     text not null,
  category   text not null,
  sweeps     integer not null,
  constraint flow_deposit_pkey primary key (generation, address),
  constraint flow_deposit_of_generation foreign key (generation) references flow_generation (number)
);

-- The nightly reading of the log from a block back to its beginning, by the labels of a generation,
-- which says where what addresses sent has ended. Every process does it for itself.
create table flow_sent (
  number     integer generated always as identity,
  generation integer not null,
  height     bigint not null,
  begun_at   timestamptz not null,
  constraint flow_sent_pkey primary key (number),
  constraint flow_sent_of_generation foreign key (generation) references flow_generation (number)
);

-- What the last reading has found so far, for the next generation.
create table flow_deposit_found (
  address  text not null,
  service  text not null,
  entity   text not null,
  category text not null,
  sweeps   integer not null,
  height   bigint not null,
  constraint flow_deposit_found_pkey primary key (address)
);

alter table aml_check add column sent_factors jsonb not null default '[]';

grant select on flow_deposit, flow_deposit_found, flow_sent
  to penstock_api, penstock_worker, penstock_admin, penstock_read;
grant insert on flow_deposit, flow_sent to penstock_worker;
grant insert, update, delete on flow_deposit_found to penstock_worker, penstock_admin;

-- Addresses that an operator says are no deposit addresses, whatever they do.
create table flow_deposit_revoked (
  address    text not null,
  reason     text not null,
  revoked_by text not null,
  revoked_at timestamptz not null,
  constraint flow_deposit_revoked_pkey primary key (address)
);
grant select on flow_deposit_revoked
  to penstock_api, penstock_worker, penstock_admin, penstock_read;
grant insert on flow_deposit_revoked to penstock_admin;
