-- kind: contract
-- Collections: what lies on customers' deposit addresses goes to an address of the operator's, by
-- transfers that are signed where no network is. Programs that do not know the accounts would find
-- the books broken.

create table collection (
  id          text not null,
  receiver    text not null,
  digest      text not null,                       -- of all bytes, as the file has it
  expires_at  timestamptz not null,
  made_at     timestamptz not null,
  made_by     text not null,
  constraint collection_pkey primary key (id)
);

-- One transfer: made -> collected | failed | dead. One that is made may get into a block until it
-- expires, whoever has the file, so its address has no other until then.
create table collection_transfer (
  tx_id         text not null,
  collection_id text not null,
  position      integer not null,                  -- in the file, from 0
  address       text not null,
  deposit_index integer not null,
  token         text,                              -- null: TRX
  amount        numeric(78) not null,              -- in sun, or the token's smallest unit
  energy        bigint,                            -- what a token's transfer needs
  raw_data      bytea not null,
  expires_at    timestamptz not null,
  state         text not null default 'made',
  due_at        timestamptz not null,
  moved         numeric(78),                       -- as the block has it
  fee_sun       bigint,
  block_number  bigint,
  ended_at      timestamptz,
  constraint collection_transfer_pkey primary key (tx_id),
  constraint collection_transfer_place unique (collection_id, position),
  constraint collection_transfer_of_collection foreign key (collection_id)
    references collection (id),
  constraint collection_transfer_state check (state in ('made', 'collected', 'failed', 'dead')),
  constraint collection_transfer_amount check (amount > 0 and (energy is null) = (token is null)),
  constraint collection_transfer_end check (
    (state = 'made') = (ended_at is null)
    and (state in ('collected', 'failed')) = (block_number is not null)
    and (block_number is null) = (moved is null) and (block_number is null) = (fee_sun is null)
    and (state <> 'collected' or moved > 0) and (state <> 'failed' or moved = 0))
);
create unique index collection_transfer_one_alive
  on collection_transfer (address, coalesce(token, '')) where state = 'made';
create index collection_transfer_to_judge on collection_transfer (due_at) where state = 'made';
create index collection_transfer_of_address on collection_transfer (address);

insert into account (id, may_go_negative)
values ('treasury:collected', true), ('treasury:fees', true);

grant select on collection, collection_transfer
  to penstock_api, penstock_worker, penstock_admin, penstock_read;
grant insert on collection, collection_transfer to penstock_admin;
grant update (state, due_at, moved, fee_sun, block_number, ended_at) on collection_transfer
  to penstock_worker;
