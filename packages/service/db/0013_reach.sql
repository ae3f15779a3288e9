-- What a step takes up is found by an index that holds nothing else: not what is delegated for its hour, not the history.

-- A fork has taken it out of a block at least once. What depended on it is looked at again.
alter table attempt add column uncovered boolean not null default false;
update attempt set uncovered = true where state in ('signed', 'sent', 'dead');
create index attempt_uncovered on attempt (id) where uncovered;

drop index delegation_open;
create index delegation_open on delegation (wallet, resource) where state = 'delegating';
drop index delegation_of_wallet;
create index delegation_of_wallet on delegation (wallet, resource, delegated_at) where state = 'active';

-- It has ended, and nothing that it was supplied with is on the chain any more.
alter table subscription add column withdrawn boolean not null default false;
create index subscription_to_withdraw on subscription (id) where state in ('stopped', 'expired', 'error') and not withdrawn;
