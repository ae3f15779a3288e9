-- kind: expand
-- The sums of all accounts at a seal of the journal, as the last whole check of the books that held
-- has worked them out from the entries. A check in between goes on from there, where a whole one
-- takes long; the next whole one works without them, and compares them with what it finds.

create table sums_seal (
  one          boolean not null default true,
  number       bigint not null,                 -- of the journal
  last_entry   bigint not null,
  sha256       text not null,                   -- of that seal
  sums_sha256  text not null,                   -- of it and of all sums
  took_ms      bigint not null,                 -- the whole check
  made_at      timestamptz not null,
  constraint sums_seal_pkey primary key (one),
  constraint sums_seal_has_one_row check (one)
);

create table sealed_sum (
  account    text not null,
  posted_sun bigint not null,
  held_sun   bigint not null,
  constraint sealed_sum_pkey primary key (account)
);

grant select, insert, update, delete on sums_seal, sealed_sum to penstock_worker;
grant select on sums_seal, sealed_sum to penstock_admin, penstock_read;
