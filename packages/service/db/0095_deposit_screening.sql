-- kind: expand
-- The money of a deposit by where it came from, as the index knew it. One row for each that was
-- booked; it is queued until the index has its block, and never changed once it is whole.
create table deposit_screening (
  tx_id        text not null,
  position     integer not null,
  block_number bigint not null,
  queued_at    timestamptz not null,
  -- Null: not yet. The reading is null where the log does not have the transfer.
  screened_at  timestamptz,
  risk_level   text,
  reading      jsonb,
  -- The ways that it came, of what is not low or was held; null: they are not read yet.
  ways         jsonb,
  constraint deposit_screening_pkey primary key (tx_id, position),
  constraint deposit_screening_of_deposit
    foreign key (tx_id, position) references deposit (tx_id, position),
  constraint deposit_screening_level check (risk_level in ('low', 'medium', 'high')),
  constraint deposit_screening_reads check ((risk_level is null) = (reading is null)),
  constraint deposit_screening_in_order check (screened_at is not null
    or (reading is null and ways is null))
);
create index deposit_screening_open on deposit_screening (block_number) where ways is null;

grant select on deposit_screening to penstock_api, penstock_worker, penstock_admin, penstock_read;
grant insert, update on deposit_screening to penstock_worker;
