-- kind: expand
-- From which day (UTC) on all that a key spends is counted: what it spent before it had a cap is
-- not, so on the day on which it gets one its sum is not what it has spent. Null: nothing is.
alter table api_key add column spending_counted_from date;
update api_key set spending_counted_from = (now() at time zone 'UTC')::date + 1
  where daily_cap_sun is not null;

-- What has counted against the cap of a key on a day, with what those have spent that share it;
-- null when not all of that day was counted.
create function api_key_spent_on(asked_id text, asked_day date) returns bigint
language sql stable as $$
  select case when key.spending_counted_from <= asked_day
      and coalesce(from_key.spending_counted_from, asked_day) <= asked_day
    then coalesce((select spent_sun from api_key_spending
      where key_id = from_key.id and day = asked_day), 0) end
  from api_key as key join api_key as from_key on from_key.id = coalesce(key.spends_from, key.id)
  where key.id = asked_id
$$;
