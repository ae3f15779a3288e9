-- kind: expand
-- The sums of an account follow its transfers, by a trigger that works as the owner, whoever writes
-- the transfers. What a role writes into the sums themselves is not heard: programs of before add
-- the same there, and go on. So the right to change held_sun is the right to lock the row, and no
-- more.

create function add_to_account_sums() returns trigger language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp as $$
declare
  wrong text;
begin
  select made.id into wrong from made where made.hold_id is not null and not exists (
    select 1 from transfer as hold
    where hold.id = made.hold_id and hold.kind = 'hold' and hold.debit = made.debit
      and hold.credit = made.credit and hold.amount_sun >= made.amount_sun
      and (made.kind = 'capture' or hold.amount_sun = made.amount_sun)) limit 1;
  if wrong is not null then
    raise exception '% does not resolve a hold as it was made', wrong
      using errcode = 'check_violation', constraint = 'transfer_resolves_as_held';
  end if;
  update account set posted_sun = account.posted_sun + sums.posted,
    held_sun = account.held_sun + sums.held
  from (
    select side.id, sum(side.posted)::bigint as posted, sum(side.held)::bigint as held from (
      select debit as id,
        case when kind in ('move', 'capture') then -amount_sun else 0 end as posted,
        case kind when 'hold' then amount_sun when 'move' then 0 else -(
          select hold.amount_sun from transfer as hold where hold.id = made.hold_id) end as held
      from made
      union all
      select credit, amount_sun, 0 from made where kind in ('move', 'capture')
    ) as side group by side.id) as sums
  where account.id = sums.id and not account.may_go_negative;
  return null;
end $$;

create trigger transfer_adds_to_accounts after insert on transfer
  referencing new table as made
  for each statement execute function add_to_account_sums();

create function keep_account_sums() returns trigger language plpgsql as $$
begin
  new.posted_sun := case tg_op when 'UPDATE' then old.posted_sun else 0 end;
  new.held_sun := case tg_op when 'UPDATE' then old.held_sun else 0 end;
  return new;
end $$;

-- A trigger of somebody's own temporary table is as deep as the one above, and is not the owner,
-- who alone may truncate. Asked here and not in the function, which is then called for no account
-- of a transfer.
create trigger account_sums_follow_transfers before update on account for each row
  when ((new.posted_sun <> old.posted_sun or new.held_sun <> old.held_sun)
    and (pg_trigger_depth() = 0 or not has_table_privilege('account'::regclass, 'truncate')))
  execute function keep_account_sums();
create trigger account_begins_empty before insert on account for each row
  execute function keep_account_sums();

-- Only what follows the chain books what has come from outside.
drop policy transfer_is_written on transfer;
create policy transfer_is_written on transfer for insert to penstock_worker with check (true);
create policy transfer_is_written_by_hand on transfer for insert to penstock_admin
  with check (kind <> 'move' or debit <> 'world');
-- What the API gives back of a subscription that has failed is exactly what was held.
drop policy transfer_is_held on transfer;
create policy transfer_is_held on transfer for insert to penstock_api
  with check (kind = 'hold' and credit = 'revenue' and debit <> 'customer:direct_recharge'
    or kind = 'release' and exists (
      select from subscription where 'subscription:' || id = hold_id and state = 'error'));
