-- kind: expand
-- Which process does what only one need do: it holds the duty until a moment by the database's
-- clock, and says so again before that.
create table duty (
  name       text not null,
  process_id text not null,
  until      timestamptz not null,
  constraint duty_pkey primary key (name)
);
grant select on duty to penstock_api, penstock_worker, penstock_admin, penstock_read;
grant insert, update on duty to penstock_worker;
