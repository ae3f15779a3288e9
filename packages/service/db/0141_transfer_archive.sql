-- kind: expand
-- The transfers of older blocks can be moved to ClickHouse. A block that was moved keeps its place
-- in the log, and a hash of them. Not validated: no block that there is has been moved.
alter table flow_block
  alter column transfers drop not null,
  alter column tx_ids drop not null,
  add column contents_sha256 bytea,
  add constraint flow_block_contents check (
    (transfers is null) = (tx_ids is null) and (transfers is null) = (contents_sha256 is not null)
    and octet_length(contents_sha256) = 32) not valid;

create table flow_archive (
  -- There is one.
  one        boolean not null default true,
  -- What ClickHouse's tables are known by: those of another database are not written to.
  id         text not null,
  -- Null: it was never begun.
  begun_at   timestamptz,
  begun_by   text,
  -- ending: everything comes back; ended: it is back. What ClickHouse has is still of this log.
  state      text not null default 'ended',
  constraint flow_archive_pkey primary key (one),
  constraint flow_archive_one check (one),
  constraint flow_archive_state check (state in ('begun', 'ending', 'ended'))
);

insert into flow_archive (id) values (gen_random_uuid()::text);

-- Blocks from the first to the last were copied, and some time later released: their transfers are
-- in ClickHouse alone. Portions lie side by side.
create table flow_archive_portion (
  first_number bigint not null,
  last_number  bigint not null,
  transfers    bigint not null,
  copied_at    timestamptz not null,
  -- When it was last put there: again, when it was found to be gone.
  put_at       timestamptz not null,
  released_at  timestamptz,
  constraint flow_archive_portion_pkey primary key (first_number),
  constraint flow_archive_portion_order check (first_number <= last_number),
  constraint flow_archive_portion_counts check (transfers >= 0),
  constraint flow_archive_portion_released_later check (released_at >= put_at)
);
create index flow_archive_portion_put on flow_archive_portion (put_at)
  where released_at is null;
create index flow_archive_portion_last on flow_archive_portion (last_number);

grant select on flow_archive, flow_archive_portion
  to penstock_api, penstock_worker, penstock_admin, penstock_read;
grant update (transfers, tx_ids, contents_sha256) on flow_block to penstock_worker;
grant update (state) on flow_archive to penstock_worker;
grant update on flow_archive to penstock_admin;
grant insert, update, delete on flow_archive_portion to penstock_worker;
