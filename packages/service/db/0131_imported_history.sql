-- kind: expand
-- Where history in the log came from that nobody here has followed: one row for each file, written
-- in the transaction that puts its blocks into the log.
create table flow_import (
  number       integer generated always as identity,
  source       text not null,
  file         text not null,
  sha256       text not null,
  first_number bigint not null,
  last_number  bigint not null,
  transfers    bigint not null,
  -- Blocks that a node has said the same of.
  compared     integer not null,
  imported_at  timestamptz not null,
  imported_by  text not null,
  constraint flow_import_pkey primary key (number),
  constraint flow_import_in_order check (first_number <= last_number),
  constraint flow_import_sha256 check (sha256 ~ '^[0-9a-f]{64}$'),
  constraint flow_import_once unique (first_number)
);

grant select on flow_import to penstock_api, penstock_worker, penstock_admin, penstock_read;
grant insert on flow_import to penstock_admin;
