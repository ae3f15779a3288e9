-- kind: expand
-- Whom each address has dealt with: a row for each direction of view, so that those of one address
-- lie together. Kept only where an operator has asked for it: then there is a row that says how far
-- the log is read, up and down from where it began.
create table flow_pair (
  address      bytea not null,
  other        bytea not null,
  asset        smallint not null,
  received     numeric(40, 0) not null,
  sent         numeric(40, 0) not null,
  transfers    bigint not null,
  first_number bigint not null,
  last_number  bigint not null,
  constraint flow_pair_pkey primary key (address, other, asset),
  constraint flow_pair_lengths check (octet_length(address) = 20 and octet_length(other) = 20),
  constraint flow_pair_not_negative check (received >= 0 and sent >= 0 and transfers > 0),
  constraint flow_pair_in_order check (first_number <= last_number)
);

create table flow_pair_progress (
  -- There is one at most.
  one          boolean not null default true,
  -- Blocks from the first to the last have been read; null: none yet.
  first_number bigint,
  last_number  bigint,
  asked_at     timestamptz not null,
  asked_by     text not null,
  constraint flow_pair_progress_pkey primary key (one),
  constraint flow_pair_progress_one check (one),
  constraint flow_pair_progress_range check ((first_number is null) = (last_number is null))
);

grant select on flow_pair, flow_pair_progress
  to penstock_api, penstock_worker, penstock_admin, penstock_read;
grant insert, update on flow_pair to penstock_worker;
grant update on flow_pair_progress to penstock_worker;
grant delete on flow_pair to penstock_admin;
grant insert, delete on flow_pair_progress to penstock_admin;
