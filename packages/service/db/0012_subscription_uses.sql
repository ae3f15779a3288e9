-- Energy used by a subscribed address is read from blocks of the head, so that it is supplied again within a block. Until
-- its block is solid a fork can take a use back; then what was charged for it is given back.
alter table subscription_use add column block_number bigint not null default 0;
alter table subscription_use alter column block_number drop default;
alter table subscription_use add column solid boolean not null default true;
alter table subscription_use alter column solid set default false;

create index subscription_use_not_solid on subscription_use (block_number) where not solid;

-- A block from before the end of a subscription may be read after it.
create index subscription_ended on subscription (address, stopped_at) where state in ('stopped', 'expired');
