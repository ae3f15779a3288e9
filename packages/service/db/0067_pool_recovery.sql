-- kind: expand
-- What of a wallet's stake is used up, in units, and until when the last of it has come back.
alter table pool_wallet add column recovering bigint default 0 not null;
alter table pool_wallet add column recovers_seconds bigint default 86400 not null;
alter table pool_wallet add constraint pool_wallet_recovers
  check (recovering >= 0 and recovers_seconds > 0);
