-- kind: expand
-- Votes and withdrawals of rewards that a restored database did not know, and that were found on
-- the chain. There may be several of a wallet at once; what the service itself asks for stays one.
alter table vote add column found boolean not null default false;
alter table reward_claim add column found boolean not null default false;

drop index vote_one_casting;
create unique index vote_one_casting on vote (wallet) where state = 'casting' and not found;
drop index vote_once_a_period;
create unique index vote_once_a_period on vote (wallet, period_ends_at)
  where state <> 'failed' and not found;
drop index reward_claim_one_claiming;
create unique index reward_claim_one_claiming on reward_claim (wallet)
  where state = 'claiming' and not found;

grant insert on vote, reward_claim to penstock_admin;
