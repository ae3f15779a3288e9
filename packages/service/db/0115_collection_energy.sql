-- kind: expand
-- Energy of our own pool for transfers of tokens from deposit addresses: a customer of the house
-- buys it as any customer does, by an order that has the name of the transfer. How much is bought
-- is written down before the order is placed, so that the same is asked for again after a crash.
alter table collection_transfer
  add column energy_by     text,                     -- the customer; null: nothing is to be bought
  add column energy_at     timestamptz,              -- asked for then; part of the order's name
  add column energy_due_at timestamptz,              -- when it is looked at next
  add column energy_amount bigint,                   -- null: not known yet
  add column energy_order  text,                     -- null: not placed yet
  add column energy_said   text,                     -- why not, or why there is no need
  add constraint collection_transfer_energy check (
    (energy_by is null or (token is not null and energy_at is not null))
    and (energy_order is null or energy_amount > 0)),
  add constraint collection_transfer_energy_by foreign key (energy_by) references customer (id);
create index collection_transfer_to_energize on collection_transfer (energy_due_at)
  where energy_by is not null and energy_order is null and state = 'made';

grant update (energy_by, energy_at, energy_due_at, energy_amount, energy_order, energy_said)
  on collection_transfer to penstock_admin;
grant update (energy_by, energy_due_at, energy_amount, energy_order, energy_said)
  on collection_transfer to penstock_worker;
