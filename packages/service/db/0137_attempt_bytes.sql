-- kind: expand
-- Of a transaction that is solid for 30 days the bytes as they were sent are emptied. Its raw data,
-- which a proof has, is made again of the contract, the expiry and these 18 bytes: of the block
-- that it refers to, and its timestamp. No bytes at all: it could not be made again, so its bytes
-- stay.
alter table attempt
  add column stamp bytea,
  drop constraint attempt_signed_has_bytes,
  add constraint attempt_signed_has_bytes check (
    (tx_id is null) = (signed is null and stamp is null)
    and (tx_id is null) = (expires_at is null)
    and (state <> 'new' or tx_id is null)
    and (state in ('new', 'dead') or tx_id is not null)),
  add constraint attempt_stamp check (stamp is null or (state = 'solid'
    and octet_length(stamp) = case when signed is null then 18 else 0 end));

create index attempt_to_empty on attempt (block_time)
  where state = 'solid' and signed is not null and stamp is null;

-- Whoever may change an attempt: what was signed is never another, and only goes when it is old by
-- the database's clock. When it was made is not the worker's to change.
create function keep_signed() returns trigger language plpgsql
  set search_path = pg_catalog, public, pg_temp as $$
begin
  if new.signed is null and old.state = 'solid' and new.tx_id = old.tx_id
    and new.expires_at = old.expires_at
    and greatest(old.made_at, old.block_time) < now() - interval '30 days'
  then
    return new;
  end if;
  raise exception 'what was signed for attempt % is kept', old.id
    using errcode = 'check_violation', constraint = 'attempt_keeps_signed', table = 'attempt';
end $$;

create trigger attempt_keeps_signed before update on attempt
  for each row
  when (old.signed is not null and new.signed is distinct from old.signed)
  execute function keep_signed();

revoke update on attempt from penstock_worker;
grant update (state, tx_id, signed, stamp, expires_at, send_at, sends, sent_at, answer, refused_at,
  block_number, block_time, block_id, uncovered, fee_sun, bandwidth, energy)
  on attempt to penstock_worker;
