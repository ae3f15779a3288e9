-- What a survey may not have seen yet is found by the time of its block, so that looking at a wallet's room does not read
-- every delegation that is on the chain.
alter table pool_wallet add column block_time timestamptz not null default '-infinity';
alter table pool_wallet alter column block_time drop default;

drop index delegation_of_wallet;
create index delegation_of_wallet on delegation (wallet, resource, delegated_at) where state in ('delegating', 'active');

-- How many transactions the wallet could pay for at that block, with its bandwidth or by burning TRX, beyond those that
-- take back what is delegated.
alter table pool_wallet add column carries bigint not null default 0;
alter table pool_wallet alter column carries drop default;
