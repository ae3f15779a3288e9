-- kind: expand
-- What our own transactions have cost, as the receipts of their blocks say; a fork takes that back
-- with the block. Those from before, and those that were found after a restore, have none.
alter table attempt
  add column fee_sun   bigint,                       -- burned, or paid for an account
  add column bandwidth bigint,                       -- of the allowance and the stake
  add column energy    bigint,
  add constraint attempt_cost check (
    (fee_sun is null) = (bandwidth is null) and (fee_sun is null) = (energy is null)
    and (fee_sun is null or block_number is not null)
    and fee_sun >= 0 and bandwidth >= 0 and energy >= 0);
grant select (fee_sun, bandwidth, energy) on attempt to penstock_read;

-- What the survey has found staked for the resource, and the votes that the wallet has cast, which
-- are the same in both of its rows. Null until the next survey.
alter table pool_wallet
  add column staked_sun bigint,
  add column votes      bigint,
  add constraint pool_wallet_stake check (staked_sun >= 0 and votes >= 0);

-- What the house wants its stake to earn in a year, in hundredths of a percent.
create table capital (
  one        boolean not null default true,
  hundredths integer not null,
  set_at     timestamptz not null,
  set_by     text not null,
  constraint capital_pkey primary key (one),
  constraint capital_one check (one),
  constraint capital_hundredths check (hundredths between 0 and 10000)
);
grant select on capital to penstock_worker, penstock_admin, penstock_read;
grant insert, update on capital to penstock_admin;
